/*
 * option: options as rows of a table, and what reads a command line by them.  --help, completion
 * and the tests of the manual pages get words and kinds from the same rows.
 */
#ifndef MEMDIAG_UI_OPTION_H
#define MEMDIAG_UI_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The argument of an option, and what is stored. */
enum ui_option_kind {
	UI_HEADING,   /* no option: a line of --help above those of its group */
	UI_FLAG,      /* bool: true */
	UI_VALUE,     /* a number: VALUE */
	UI_BITS,      /* unsigned int: the bits of VALUE, added */
	UI_TIMES,     /* int: one more */
	UI_NUMBER,    /* a number of 31 bits */
	UI_SIZE,      /* bytes: see ui_parse_size() */
	UI_DURATION,  /* nanoseconds: see ui_parse_duration() */
	UI_WORD,      /* an enum or int: the index of the word */
	UI_ADDRESS,   /* raddr, in hexadecimal */
	UI_STRING,    /* const char *; words, if it has some, are examples */
	UI_FILE,      /* the same: the name of a file */
	UI_DIRECTORY, /* the same: the name of a directory */
	UI_PROCESS,   /* a PID or a name; for SET */
};

struct ui_option {
	const char *name; /* without "--"; NULL: a heading */
	char letter;	  /* 0: none */
	const char *arg;  /* its name in --help; NULL: no argument is taken */
	int group;	  /* as of argp */
	/*
	 * NULL: the option is not shown, and works.  "{words}" stands for the words, as in "a, b or
	 * c", "{other words}" for all but the first, and "{also}" for those of ALSO.
	 */
	const char *help;
	enum ui_option_kind kind;
	/* The member of the command's struct in which it is stored: UI_AT(); size 0: none. */
	size_t at, size;
	size_t given;		       /* UI_GIVEN(): a bool that is true if the option was given */
	bool may_lack_arg;	       /* then nothing is stored without one, and SET gets NULL */
	uint64_t value;		       /* of UI_VALUE and UI_BITS */
	uint64_t least, most;	       /* of numbers; most 0: any */
	uint64_t scale;		       /* what is stored is the number times this; 0: 1 */
	uint64_t preset;	       /* what is stored before options are read; 0: nothing */
	const char *const *words;      /* NULL at the end */
	const char *(*word)(size_t i); /* the same as a function */
	const char *(*note)(
		size_t i); /* stands in parentheses behind word I in --help; NULL: none */
	const char *(*also)(size_t i); /* words that it takes in another case; not parsed here */
	/*
	 * The rest of "memdiag COMMAND: 'ARG' ..." for an argument of a wrong form or an unknown
	 * word, and for a number that is too small or too large (NULL: the same).  If it ends with
	 * a blank, the words follow.  NULL: the sentence of the kind.
	 */
	const char *wrong, *beyond;
	/* Called after it was stored, if anything is.  INPUT is the command's struct. */
	void (*set)(struct argp_state *state, const struct ui_option *o, void *input, char *arg);
};

#define UI_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define UI_GIVEN(type, member) .given = offsetof(type, member) + 1

/* A member that is set if any of its bytes is not 0. */
struct ui_member {
	size_t at, size;
};
#define UI_MEMBER(type, member)                                                                    \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)0)->member)                                \
	}

/* A condition that holds when all options are known; else argp exits with WHY. */
struct ui_rule {
	enum ui_rule_kind {
		UI_EXCLUDES = 1, /* not both A and B are set */
		UI_NEEDS,	 /* B is set if A is */
		UI_WANTS,	 /* A or B is set */
	} kind;			 /* 0: the end of the rules */
	struct ui_member a, b;
	const char *why;
};
#define UI_RULE(kind, type, a, b, why)                                                             \
	{                                                                                          \
		kind, UI_MEMBER(type, a), UI_MEMBER(type, b), why                                  \
	}

struct ui_syntax;

/* The options of SYNTAX as well, whose input lies AT so many bytes in the struct of this one. */
struct ui_child {
	const struct ui_syntax *syntax; /* NULL: the end of the children */
	size_t at;
};

/* The words and options of a command, or of a part of several commands. */
struct ui_syntax {
	const struct ui_option *options; /* a row of zeros ends them; NULL: none */
	const struct ui_rule *rules;	 /* NULL: none */
	const struct ui_child *children; /* NULL: none */
	void (*begin)(void *input);	 /* before options are read */
	/* A word that is no option; 0, or ARGP_ERR_UNKNOWN leaves it to a child.  NULL: all are. */
	error_t (*argument)(struct argp_state *state, void *input, char *arg);
	/* When all words are read, after the rules: first those of parents. */
	void (*check)(struct argp_state *state, void *input);
	/* After all checks: first those of children. */
	void (*conclude)(struct argp_state *state, void *input);
	const char *args_doc, *doc; /* as of argp */
};

/* Parse ARGV by SYNTAX into INPUT; add what argp itself cannot do (-h, help format). */
void ui_parse(const struct ui_syntax *syntax, int argc, char **argv, void *input);
/* The same without reordering ARGV; words end the options of argp's caller that says so. */
void ui_parse_in_order(const struct ui_syntax *syntax, int argc, char **argv, void *input);
/* The same up to the first word that is no option.  Returns its index, ARGC if none. */
int ui_parse_until_word(const struct ui_syntax *syntax, int argc, char **argv, void *input);

/* The index of ARG among the words of O, or -1. */
int ui_option_find_word(const struct ui_option *o, const char *arg);
/* Refuse ARG as an argument of O that has a wrong form. */
void ui_option_refuse(struct argp_state *state, const struct ui_option *o, const char *arg);

/* The row of SYNTAX that SPELLED, "-n" or "--lines", stands for, in whole; NULL if none. */
const struct ui_option *ui_option_find(const struct ui_syntax *syntax, const char *spelled);
/*
 * Write a line for each spelling of an option of SYNTAX that --help shows, with its kind and its
 * words, as in "--by word class object"; "word?" if its argument is optional.
 */
void ui_option_list(const struct ui_syntax *syntax, FILE *f);

/* Refuse ARG, which is untrusted, as argp_error() does: "'ARG' WHY". */
void ui_refuse(struct argp_state *state, const char *arg, const char *why);

/* The number ARG, which is not negative and fits into 31 bits; else as ui_refuse(). */
unsigned long ui_parse_count(struct argp_state *state, const char *arg);

/*
 * A size with an optional suffix, K M G T, as in "512K", "512KB" or "512KiB", which are all 1024
 * times 512, into *RET; false if TEXT is not one.  A duration with us, ms, s, m, h (seconds if
 * none) likewise, in nanoseconds.
 */
bool ui_parse_size(const char *text, uint64_t *ret_bytes);
bool ui_parse_duration(const char *text, uint64_t *ret_ns);
/* The hexadecimal number that TEXT begins with; *RET_END is behind it.  False if none. */
bool ui_parse_address(const char *text, uint64_t *ret, const char **ret_end);

#endif
