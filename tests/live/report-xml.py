#!/usr/bin/env python3
"""report-xml.py svg|html FILE NAME...: whether the flame graph or page FILE is well-formed, has no elements but those
that memdiag writes, asks for no other file, and shows each NAME as text."""
import html.parser
import sys
import xml.etree.ElementTree as ElementTree

kind, file, names = sys.argv[1], sys.argv[2], sys.argv[3:]
KNOWN = set("svg style text g title rect script html head meta body h1 h2 p input button table thead tbody tr th td "
            "span".split())
elements, texts, attributes = [], [], []


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        elements.append(tag)
        attributes.extend(attrs)

    def handle_data(self, data):
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
problems += [f"{n} scripts" for n in [elements.count("script")] if n != 1]
problems += [f"no text {name!r}" for name in names if name not in said]
print("\n".join(problems))
sys.exit(bool(problems))
