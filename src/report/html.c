/*
 * The page has its data as JSON, packed by gzip and written in base64, and a program that draws
 * them.  Names from a profile are only in these data and in the text of the headings, so no name
 * can become a part of the page; and the page's policy forbids every script and style but its own,
 * and every request.
 */
#include <config.h>

#include "report/html.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/gzip.h"
#include "report/format.h"
#include "report/page-data.h"
#include "report/text.h"
#include "report/unnamed-text.h"
#include "report/xml.h"
#include "ui/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "report/assets.h"

#define MAX_NAME_BYTES 2000

/* ---- the frame of the page ---- */

/* The parts of the page's script, in their order; the first is for plots (src/report/vendor). */
static const char *const script_parts[] = { uplot_js, "\n", model_js, graph_js, views_js, curve_js,
	app_js, NULL };
static const char *const style_parts[] = { "\n", uplot_css, page_css, NULL };

/* Return the parts of the script of a page, which needs no plots if it has no moments. */
static const char *const *
script_of(bool has_moments)
{
	return has_moments ? script_parts : script_parts + 1;
}

static void
put_page_parts(FILE *f, const char *const *part)
{
	for (; *part; part++)
		fputs(*part, f);
}

/* Print the source of PARTS for the policy: the hash of the text between its tags (CSP level 2). */
static void
put_hash(FILE *f, const char *const *part)
{
	struct sha256_ctx context;
	uint8_t hash[SHA256_DIGEST_SIZE];
	char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";

	sha256_init(&context);
	for (; *part; part++)
		sha256_update(&context, strlen(*part), (const uint8_t *)*part);
	sha256_digest(&context, sizeof hash, hash);
	base64_encode_raw(text, sizeof hash, hash);
	fprintf(f, "'sha256-%s'", text);
}

void
page_put_head(FILE *f, const char *title, bool has_moments)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "base-uri 'none'; form-action 'none'; script-src ",
		f);
	put_hash(f, script_of(has_moments));
	fputs("; style-src ", f);
	put_hash(f, style_parts);
	fputs("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>",
		f);
	xml_put(f, title, 200);
	fputs("</title>\n<style>", f);
	put_page_parts(f, style_parts);
	fputs("</style>\n</head>\n<body>\n", f);
}

void
page_put_tail(FILE *f, bool has_moments)
{
	fputs("<script>", f);
	put_page_parts(f, script_of(has_moments));
	fputs("</script>\n</body>\n</html>\n", f);
}

/* ---- the data ---- */

static int
page_put_packed(FILE *f, const char *data, size_t len, struct err *e)
{
	auto_free char *packed = NULL, *coded = NULL;
	size_t packed_len;

	if (len > GZIP_MAX_BYTES)
		return err_set(e, EFBIG, "the profile has too many stacks for a page");
	if (gzip_pack(&packed, &packed_len, data, len, e) < 0)
		return -1;
	coded = malloc(BASE64_ENCODE_RAW_LENGTH(packed_len));
	if (!coded)
		return err_set(e, ENOMEM, "cannot write the page");
	base64_encode_raw(coded, packed_len, (const uint8_t *)packed);
	fputs("<script type=\"application/gzip\" class=\"profile\">", f);
	fwrite(coded, 1, BASE64_ENCODE_RAW_LENGTH(packed_len), f);
	fputs("</script>\n", f);
	return 0;
}

static int
page_put_data(const struct report_view *v, FILE *f, struct err *e)
{
	auto_free char *data = NULL;
	size_t len;
	FILE *memory = open_memstream(&data, &len);
	int r, closed;

	if (!memory)
		return err_set(e, errno, "cannot write the page");
	r = page_data_put(v, memory, e);
	closed = fclose(memory);
	if (r < 0)
		return -1;
	return closed == 0 ? page_put_packed(f, data, len, e)
			   : err_set(e, ENOMEM, "cannot write the page");
}

/* ---- the report ---- */

static void
html_put_heading(const struct report_view *v, FILE *f)
{
	char period[32];

	fputs("<h1>", f);
	xml_put(f, v->file, MAX_NAME_BYTES);
	if (v->base) {
		fputs(" less ", f);
		xml_put(f, v->base, MAX_NAME_BYTES);
	}
	fputs("</h1>\n", f);
	if (v->p->period_bytes > 1)
		fprintf(f, "<p class=\"facts\">one sample every %s</p>\n",
			text_bytes((uint64_t)v->p->period_bytes, period, sizeof period));
	for (size_t i = 0; i < v->p->comments.nr; i++) {
		fputs("<p class=\"facts\">", f);
		xml_put(f, v->p->comments.v[i], MAX_NAME_BYTES);
		fputs("</p>\n", f);
	}
}

static int
put_unnamed(const struct report_view *v, FILE *f, struct err *e)
{
	auto_free char *text = NULL;
	char *rest = NULL;

	if (report_unnamed_text(&text, v, e) < 0)
		return -1;
	if (!*text)
		return 0;
	fputs("<pre class=\"facts\" id=\"unnamed\">", f);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		xml_put(f, line, MAX_NAME_BYTES);
		fputc('\n', f);
	}
	fputs("</pre>\n", f);
	return 0;
}

int
page_put_report(const struct report_view *v, FILE *f, const char *facts, struct err *e)
{
	html_put_heading(v, f);
	if (facts) {
		fputs("<p class=\"facts\">", f);
		xml_put(f, facts, MAX_NAME_BYTES);
		fputs("</p>\n", f);
	}
	if (put_unnamed(v, f, e) < 0)
		return -1;
	fputs("<div id=\"report\"></div>\n<noscript><p class=\"error\">The page draws the report "
	      "with JavaScript, which is off; 'memdiag report' prints the same as text."
	      "</p></noscript>\n",
		f);
	return page_put_data(v, f, e);
}

/* Print a page with all views of the report, which needs no other file. */
static int
report_print_html(const struct report_view *v, struct ui_output *out, struct err *e)
{
	page_put_head(out->f, v->file, false);
	if (page_put_report(v, out->f, NULL, e) < 0)
		return -1;
	page_put_tail(out->f, false);
	return 0;
}

const struct report_format report_format_html = { "html", 0, 0, report_print_html,
	"page for a browser" };
