#!/usr/bin/env python3
"""report-xml.py svg|html FILE NAME...: whether the flame graph or page FILE is well-formed, has no elements but those
that memdiag writes, asks for no other file, and shows each NAME as text, or has it in its packed data."""
import base64
import gzip
import html.parser
import json
import sys
import xml.etree.ElementTree as ElementTree

kind, file, names = sys.argv[1], sys.argv[2], sys.argv[3:]
KNOWN = set("svg style text g title rect script html head meta body h1 h2 p pre div noscript path line circle".split())
elements, texts, attributes = [], [], []


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            yield from strings(v)


class Page(html.parser.HTMLParser):
    is_data = False

    def handle_starttag(self, tag, attrs):
        elements.append(tag)
        attributes.extend(attrs)
        self.is_data = ("class", "profile") in attrs

    def handle_data(self, data):
        if self.is_data:
            texts.extend(strings(json.loads(gzip.decompress(base64.b64decode(data)))))
            self.is_data = False
        else:
            texts.append(data)


with open(file, encoding="utf-8") as f:
    content = f.read()
if kind == "svg":
    for element in ElementTree.fromstring(content).iter():
        elements.append(element.tag.rsplit("}")[-1])
        attributes.extend(element.attrib.items())
        texts.append(element.text or "")
else:
    page = Page()
    page.feed(content)
    page.close()
said = "\n".join(texts)
problems = [f"an element {e}" for e in set(elements) - KNOWN]
problems += [f"attribute {k}={v}" for k, v in attributes if k.startswith("on") or k in ("src", "href", "action")]
problems += [f"{n} scripts" for n in [elements.count("script")] if n != (1 if kind == "svg" else 2)]
problems += [f"no text {name!r}" for name in names if name not in said]
print("\n".join(problems))
sys.exit(bool(problems))
