/* MPI_Allreduce of 16 MB of float32, as ranks sum the graph's: prints the seconds of
 * one, in the words of grun --time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4194304, TIMES = 100 };

int main(int argc, char **argv) {
    int rank;
    float *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(in, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        MPI_Allreduce(in, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("grun: %.9f s\n", (MPI_Wtime() - start) / TIMES);
    MPI_Finalize();
    free(in), free(out);
    return 0;
}
