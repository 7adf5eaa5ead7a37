/* What elementwise ops do with terms of a whole. */
#ifndef PART_TERMS_H
#define PART_TERMS_H

typedef enum PartTerms {
    TERMS_PLAIN,    /* nothing can be said */
    TERMS_ADD,      /* sums are added */
    TERMS_TIMES,    /* a sum times what is the same everywhere */
    TERMS_OVER,     /* a sum divided by such */
    TERMS_NEGATIVE, /* a maximum becomes a minimum */
    TERMS_LINEAR,   /* of sums only */
    TERMS_CAST,
    TERMS_MAX, /* of maxima */
    TERMS_MIN,
    TERMS_AND, /* of `all`s */
    TERMS_OR,
    TERMS_NOT /* `all` becomes `any` */
} PartTerms;

#endif
