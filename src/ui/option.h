/*
 * option: options as rows of a table, and the parser that uses them. --help, completion and the
 * tests of the manual pages get words and kinds from the same rows.
 */
#ifndef MEMDIAG_UI_OPTION_H
#define MEMDIAG_UI_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The argument of an option, and the stored value. */
enum ui_option_kind {
	UI_HEADING,   /* not an option: a line of --help above its group */
	UI_FLAG,      /* bool: true */
	UI_VALUE,     /* a number: VALUE */
	UI_BITS,      /* unsigned int: the bits of VALUE, ORed in */
	UI_TIMES,     /* int: incremented */
	UI_NUMBER,    /* a number of 31 bits */
	UI_SIZE,      /* bytes: see ui_parse_size() */
	UI_DURATION,  /* nanoseconds: see ui_parse_duration() */
	UI_WORD,      /* an enum or int: the index of the word */
	UI_ADDRESS,   /* raddr, in hexadecimal */
	UI_STRING,    /* const char *; any words are examples */
	UI_FILE,      /* const char *: the name of a file */
	UI_DIRECTORY, /* const char *: the name of a directory */
	UI_PROCESS,   /* a PID or a name; for SET */
};

struct ui_option {
	const char *name; /* without "--"; NULL: a heading */
	char letter;	  /* 0: no letter */
	const char *arg;  /* its name in --help; NULL: no argument */
	int group;	  /* as in argp */
	/*
	 * NULL: a hidden option that works.  "{words}" is replaced by the words, as in "a, b or c",
	 * "{other words}" by all but the first, and "{also}" by those of ALSO.
	 */
	const char *help;
	enum ui_option_kind kind;
	/* The member of the command's struct for the value: UI_AT(); size 0: not stored. */
	size_t at, size;
	size_t given;		  /* UI_GIVEN(): a bool that is true if the option was given */
	bool may_lack_arg;	  /* without an argument nothing is stored, and SET gets NULL */
	uint64_t value;		  /* for UI_VALUE and UI_BITS */
	uint64_t least, most;	  /* bounds of numbers; most 0: unlimited */
	uint64_t scale;		  /* the number is multiplied by this when stored; 0: 1 */
	uint64_t preset;	  /* stored before options are parsed; 0: not stored */
	const char *const *words; /* NULL-terminated */
	const char *(*word)(size_t i); /* the words as a function */
	const char *(*note)(
		size_t i); /* printed in parentheses after word I in --help; NULL: no note */
	const char *(*also)(size_t i); /* words accepted in another case; not parsed here */
	/*
	 * The rest of the message "memdiag COMMAND: 'ARG' ..." for an invalid argument or unknown
	 * word, and for a number that is too small or too large (NULL: the same text).  If it ends
	 * with a blank, the words follow.  NULL: the default text of the kind.
	 */
	const char *wrong, *beyond;
	/* Called after the value, if any, was stored.  INPUT is the command's struct. */
	void (*set)(struct argp_state *state, const struct ui_option *o, void *input, char *arg);
};

#define UI_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define UI_GIVEN(type, member) .given = offsetof(type, member) + 1

/* A member that counts as set if any of its bytes is not 0. */
struct ui_member {
	size_t at, size;
};
#define UI_MEMBER(type, member)                                                                    \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)0)->member)                                \
	}

/* A condition checked after all options are parsed; if it is violated, argp exits with WHY. */
struct ui_rule {
	enum ui_rule_kind {
		UI_EXCLUDES = 1, /* A and B must not both be set */
		UI_NEEDS,	 /* if A is set, B must be set */
		UI_WANTS,	 /* A or B must be set */
	} kind;			 /* 0 ends the rules */
	struct ui_member a, b;
	const char *why;
};
#define UI_RULE(kind, type, a, b, why)                                                             \
	{                                                                                          \
		kind, UI_MEMBER(type, a), UI_MEMBER(type, b), why                                  \
	}

struct ui_syntax;

/* Include the options of SYNTAX, whose input lies AT bytes into this one's struct. */
struct ui_child {
	const struct ui_syntax *syntax; /* NULL ends the children */
	size_t at;
};

/* The words and options of a command, or of a part of several commands. */
struct ui_syntax {
	const struct ui_option *options; /* ended by a row of zeros; NULL: no options */
	const struct ui_rule *rules;	 /* NULL: no rules */
	const struct ui_child *children; /* NULL: no children */
	void (*begin)(void *input);	 /* before options are parsed */
	/*
	 * Handles a word that is not an option; returns 0, or ARGP_ERR_UNKNOWN to leave it to a
	 * child.  NULL: all words are left to children.
	 */
	error_t (*argument)(struct argp_state *state, void *input, char *arg);
	/* Called after all words are parsed and the rules are checked: parents first. */
	void (*check)(struct argp_state *state, void *input);
	/* Called after all checks: children first. */
	void (*conclude)(struct argp_state *state, void *input);
	const char *args_doc, *doc; /* as in argp */
};

/* Parse ARGV by SYNTAX into INPUT; add what argp cannot do (-h, help format). */
void ui_parse(const struct ui_syntax *syntax, int argc, char **argv, void *input);
/* As ui_parse(), without reordering ARGV; for a caller in which words end the options. */
void ui_parse_in_order(const struct ui_syntax *syntax, int argc, char **argv, void *input);
/*
 * As ui_parse(), up to the first word that is not an option.  Returns its index, ARGC if not found.
 */
int ui_parse_until_word(const struct ui_syntax *syntax, int argc, char **argv, void *input);

/* Return the index of ARG among the words of O, or -1. */
int ui_option_find_word(const struct ui_option *o, const char *arg);
/* Refuse ARG as a malformed argument of O. */
void ui_option_refuse(struct argp_state *state, const struct ui_option *o, const char *arg);

/*
 * Return the row of SYNTAX for the exact spelling SPELLED, such as "-n" or "--lines"; NULL if not
 * found.
 */
const struct ui_option *ui_option_find(const struct ui_syntax *syntax, const char *spelled);
/*
 * Write a line for each spelling of an option of SYNTAX in --help, with its kind and words, as in
 * "--by word class object"; "word?" if its argument is optional.
 */
void ui_option_list(const struct ui_syntax *syntax, FILE *f);

/* Refuse ARG, which is untrusted, as argp_error() does: "'ARG' WHY". */
void ui_refuse(struct argp_state *state, const char *arg, const char *why);

/*
 * Return the number ARG, which must be non-negative and fit into 31 bits; otherwise as ui_refuse().
 */
unsigned long ui_parse_count(struct argp_state *state, const char *arg);

/*
 * Parse a size with an optional suffix K, M, G or T into *RET; "512K", "512KB" and "512KiB" are all
 * 512 times 1024.  Return false if TEXT is invalid.  Likewise parse a duration with us, ms, s, m or
 * h (default: seconds) into nanoseconds.
 */
bool ui_parse_size(const char *text, uint64_t *ret_bytes);
bool ui_parse_duration(const char *text, uint64_t *ret_ns);
/*
 * Parse the hexadecimal number at the start of TEXT; *RET_END points after it.  Return false if
 * TEXT has no number.
 */
bool ui_parse_address(const char *text, uint64_t *ret, const char **ret_end);

#endif
