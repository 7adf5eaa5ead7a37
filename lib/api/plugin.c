/* Opens and checks plugins, and collects what they provide. A plugin is refused if
 * anyone but its owner could have written it, or if it was built for another interface.
 * A graph never contains names of libraries. */
#include "api/api_impl.h"
#include "api/plugin_impl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- plugins of a session ---- */

typedef struct Plugins {
    Vec(void *) handle;
} Plugins;

static void plugins_free(void *p) {
    Plugins *t = p;
    while (t->handle.n > 0)
        dlclose(t->handle.p[--t->handle.n]);
    vec_free(&t->handle);
    mem_free(t);
}

/* Values and constants are freed before the library whose code frees what they own. */
static void keep_open(Session *s, void *handle) {
    Plugins *t = session_slot(s, SLOT_PLUGINS);
    if (!t) {
        t = mem_zalloc(s, 1, sizeof *t);
        session_set_slot(s, SLOT_PLUGINS, t, plugins_free);
    }
    vec_push(s, &t->handle, handle);
}

/* ---- ownership of the file ---- */

static bool no_plugin(Session *s, const char *path, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool no_plugin(Session *s, const char *path, DiagCode code, const char *fmt,
                      ...) {
    Str b = STR(s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    fail(s, NOWHERE, code, "the plugin %s %s", path, str_text(&b));
    str_free(&b);
    return false;
}

static bool check_owner(Session *s, const char *path, const char *real) {
    struct stat st;
    const char *slash = strrchr(real, '/');
    char *folder =
        arena_str(session_arena(s), real, slash > real ? (size_t)(slash - real) : 1);
    if (stat(real, &st) != 0) return no_plugin(s, path, E_IO, "can't be read");
    if (!S_ISREG(st.st_mode))
        return no_plugin(s, path, E_PLUGIN, "is not a regular file");
    if (st.st_mode & S_IWOTH) {
        no_plugin(s, path, E_PLUGIN, "is refused: anybody may write to it");
        return note(s, NOWHERE, "chmod o-w %s", path);
    }
    if (stat(folder, &st) != 0 || st.st_mode & S_IWOTH) {
        no_plugin(s, path, E_PLUGIN, "is refused: anybody may write to its folder %s",
                  folder);
        return note(s, NOWHERE, "keep it in a folder of your own");
    }
    return true;
}

/* ---- opening ---- */

static bool check_plugin(Session *s, const char *path, const TlPlugin *p) {
    if (!p) {
        no_plugin(s, path, E_PLUGIN, "does not export tl_plugin");
        return note(s, NOWHERE,
                    "end its source with TL_PLUGIN(\"name\", \"version\", init) of "
                    "<thunkline/plugin.h>");
    }
    if (p->abi != TL_PLUGIN_ABI) {
        no_plugin(s, path, E_PLUGIN,
                  "is built for version %u of the plugin interface, but this thunkline "
                  "has version %u",
                  (unsigned)p->abi, (unsigned)TL_PLUGIN_ABI);
        return note(s, NOWHERE, "compile it with this thunkline's headers");
    }
    return (p->init && p->name && p->version) ||
           no_plugin(s, path, E_PLUGIN, "has no %s",
                     !p->init   ? "init"
                     : !p->name ? "name"
                                : "version");
}

bool plugin_add(Session *s, const char *path, const TlPlugin *p) {
    if (!check_plugin(s, path, p)) return false;
    Arena *a = session_arena(s);
    Plugin *own = NEW(a, Plugin);
    *own = (Plugin){.s = s, .path = arena_str(a, path, strlen(path))};
    TlHost h = {.s = s,
                .what = own->path,
                .other = E_PLUGIN,
                .mark = diag_count(s),
                .plugin = own};
    return plugin_verdict(&h, p->init(&h, &plugin_api), "init") &&
           plugin_check_texts(&h);
}

void *plugin_open(Session *s, const char *path) {
    char *real = realpath(path, NULL);
    void *handle = NULL;
    if (!real)
        no_plugin(s, path, E_IO, "can't be found");
    else if (check_owner(s, path, real) &&
             !(handle = dlopen(real, RTLD_NOW | RTLD_LOCAL)))
        no_plugin(s, path, E_IO, "can't be loaded: %s", dlerror());
    free(real);
    if (handle) keep_open(s, handle);
    return handle;
}

bool plugin_load(Session *s, const char *path) {
    void *handle = plugin_open(s, path);
    if (!handle) return false;
    session_log(s, "loaded the plugin %s", path);
    return plugin_add(s, path, dlsym(handle, "tl_plugin"));
}

/* ---- verdicts of plugin functions ---- */

bool plugin_verdict(TlHost *h, bool ok, const char *of) {
    bool said = diag_count(h->s) > h->mark;
    if (ok && !said) return true;
    if (said) return false;
    fail(h->s, h->at, h->other, "%s: %s failed and gave no reason", h->what, of);
    return note(h->s, NOWHERE, "a plugin reports what is wrong with api->fail");
}

bool plugin_take(TlHost *h, const char *what, void *own, size_t size, const void *def,
                 size_t least) {
    memset(own, 0, size);
    if (!def) return plugin_api.fail(h, TL_FAILED, "%s is NULL", what);
    switch (struct_take(own, size, def, least)) {
    case STRUCT_SIZE:
        return plugin_api.fail(
            h, TL_FAILED,
            "the first member of %s must be its size (.size = sizeof "
            "def), not %zu",
            what, *(const size_t *)def);
    case STRUCT_NEWER:
        return plugin_api.fail(h, TL_FAILED,
                               "%s uses a feature that this thunkline does not "
                               "have: it needs a newer version",
                               what);
    case STRUCT_FITS:
        break;
    }
    return true;
}
