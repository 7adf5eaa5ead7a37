// Reads a trained graph and asks it for the class of a digit that is drawn here, in a
// machine that computes nothing else; then says what a call costs.
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thunkline/thunkline.h>
#include <vector>

template <auto release> struct Free {
    template <class T> void operator()(T *p) const { release(p); }
};
using Session = std::unique_ptr<TlSession, Free<tl_session_free>>;
using Graph = std::unique_ptr<TlGraph, Free<tl_graph_free>>;
using Machine = std::unique_ptr<TlMachine, Free<tl_machine_free>>;
using Profile = std::unique_ptr<TlProfile, Free<tl_profile_free>>;

static void must(TlSession *s, bool ok) {
    if (!ok) throw std::runtime_error(tl_error(s));
}

static std::vector<float> draw(const char *picture) {
    std::vector<float> pixels;
    for (; *picture; picture++)
        pixels.push_back(*picture == '#' ? 16.0F : 0.0F);
    return pixels;
}

int main(int argc, char **argv) try {
    Session s(tl_session_new());
    Graph g(tl_graph_read(s.get(), argc > 1 ? argv[1] : "trained.tlg"));
    must(s.get(), g != nullptr);
    TlMachineOptions how{};
    how.size = sizeof how;
    how.outputs = "logits";
    how.no_updates = true;
    Machine m(tl_machine_new_with(g.get(), &how));
    must(s.get(), m != nullptr);

    std::vector<float> pixels = draw("  ####  "
                                     " ##  ## "
                                     " ##  ## "
                                     " ##  ## "
                                     " ##  ## "
                                     " ##  ## "
                                     " ##  ## "
                                     "  ####  ");
    TlArray x{}, logits;
    x.dtype = "float32";
    x.ndim = 2;
    x.shape[0] = 1;
    x.shape[1] = 64;
    x.stride[0] = 64 * sizeof(float);
    x.stride[1] = sizeof(float);
    x.data = pixels.data();
    must(s.get(), tl_machine_set(m.get(), "x", &x) && tl_machine_run(m.get()) &&
                      tl_machine_get(m.get(), "logits", &logits));
    const float *score = static_cast<float *>(logits.data);
    int best = 0;
    for (int i = 1; i < logits.shape[1]; i++)
        if (score[i] > score[best]) best = i;
    std::cout << "this is a " << best << "\n";

    Profile p(tl_machine_profile(m.get(), nullptr));
    double flops = 0;
    must(s.get(), p && tl_profile_total(p.get(), "flops", &flops));
    std::cout << flops << " flops\n";
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
