/* tl_mpi.so: messages between ranks by MPI (op/ranks.h). A library of its own, which
 * grun opens when mpirun has started it, so that nothing else needs MPI. */
#ifndef MPI_TL_MPI_H
#define MPI_TL_MPI_H

#include "op/ranks.h"

typedef struct TlMpi {
    const char *version; /* of thunkline: that of the program must be the same */
    /* Fills in rank, n, ctx and swap. False: *why says what is wrong. */
    bool (*open)(Ranks *r, const char **why);
    /* whole: all ranks do the same; else all others are ended with that status. */
    void (*close)(bool whole, int status);
} TlMpi;
/* The library exports this variable. */
#define TL_MPI_SYMBOL "tl_mpi"

#endif
