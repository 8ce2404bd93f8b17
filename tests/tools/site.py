#!/usr/bin/env python3
"""
What `make site` makes: tests/tools/site.py [--site FOLDER] [--shots FOLDER]

Links and symbols are checked in the files, searches and widths in a headless Chromium. It is skipped (status 77) if
Sphinx is missing, and its second half if Chromium or its driver is.
"""
import argparse
import functools
import glob
import html.parser
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "timeline"))
from chrome import Chrome, program  # noqa: E402

# What is typed, and the address of the first hit.
SEARCHES = (("spawn", "reference/spawn.html#c.thrum_spawn"), ("thrum_event_wait", "reference/event.html#c.thrum_event_wait"),
            ("EBADF", "guide/errors.html#ebadf"), ("-ETIMEDOUT", "guide/errors.html#etimedout"),
            ("THRUM_WORKERS", "guide/configuration.html#thrum-workers"),
            ("stall_rescue_ms", "reference/config.html#c.thrum_config.stall_rescue_ms"),
            ("parks", "reference/metrics.html#c.thrum_metrics.parks"),
            ("thrum_parks_total", "reference/metrics.html#index"),
            ("thrum_running_seconds", "reference/metrics.html#index"), ("half close", "reference/io.html#"),
            ("thrum::task", "reference/cpp/task.html"), ("THRUM_SHARDED", "reference/config.html#c.thrum_policy.THRUM_SHARDED"),
            ("deadline", "time.html#index"), ("segfault", "guide/debugging.html#index"), ("stack size", "stacks.html#index"),
            ("mutex", "reference/mutex.html#c.thrum_mutex"))
PAGES = ("index.html", "guide/tasks.html", "guide/descriptors.html", "guide/errors.html", "guide/cpp.html", "policies.html",
         "reference/index.html", "reference/event.html", "reference/config.html", "src/README.html",
         "examples/event.c.html", "search.html?q=spawn")
ENTER = "\ue007"


class Page(html.parser.HTMLParser):
    """The names in a page and the addresses that it has: links, and what a browser loads by itself."""
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(attributes[name] for name in ("id", "name") if name in attributes)
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "shortcut icon"):
            self.loads.append(attributes["href"])
        elif tag in ("script", "img", "source", "iframe") and "src" in attributes:
            self.loads.append(attributes["src"])


def faults_of_files(site):
    pages = {path: Page(path) for path in glob.glob(site + "/**/*.html", recursive=True)}
    for path, page in pages.items():
        at = os.path.relpath(path, site)
        for url in page.links + page.loads:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme or parts.netloc or url.startswith("/"):
                if url in page.loads:
                    yield f"{at} loads {url}"
                continue
            there = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not os.path.isfile(there):
                yield f"{at}: {url} leads nowhere"
            elif anchor and there in pages and anchor not in pages[there].ids:
                yield f"{at}: {url} leads to no place in that page"
    for path in glob.glob(site + "/_static/**/*.css", recursive=True):
        with open(path, encoding="utf-8") as file:
            yield from (f"{os.path.relpath(path, site)} loads {url}"
                        for url in re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:|/)[^\s\"')]*)", file.read()))
    for path in glob.glob(ROOT + "/include/thrum/*.h"):
        page = pages.get(f"{site}/reference/{os.path.basename(path)[:-2]}.html")
        with open(path, encoding="utf-8") as file:
            names = re.findall(r"^THRUM_API [^;{]*?\b(thrum_\w+)\(", file.read(), re.M)
        yield from (f"{name} is not in the reference" for name in names if not page or "c." + name not in page.ids)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # the browser leaves a page whose files are still coming


def faults_in_browser(base, width, shots):
    with Chrome(width, 900) as chrome:
        chrome.call("POST", "/timeouts", {"script": 3600000})  # the runner has the limit
        if width < 500:  # a window cannot be that narrow
            screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": True}
            chrome.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": screen})
        for page in PAGES:
            chrome.call("POST", "/url", {"url": base + page})
            if "?q=" in page:
                chrome.wait("document.querySelector('#search-results li')")
            for is_dark in (False, True) if shots else ():
                chrome.dark(is_dark)
                name = re.sub(r"\W+", "-", page) + ("-dark" if is_dark else "")
                chrome.screenshot(os.path.join(shots, f"{name}-{width}.png"))
            if chrome.js("return document.documentElement.scrollWidth > innerWidth"):
                yield f"{page} is wider than {width} pixels"
            loaded = chrome.js("return performance.getEntriesByType('resource').map(entry => entry.name)")
            yield from (f"{page} loads {url}" for url in loaded if not url.startswith((base, "data:")))
        for text, wanted in SEARCHES if width > 500 else ():
            chrome.call("POST", "/url", {"url": base + "guide/tasks.html"})
            box = chrome.call("POST", "/element", {"using": "css selector", "value": "input[name=q]"})
            chrome.call("POST", f"/element/{next(iter(box.values()))}/value", {"text": text + ENTER})
            found = None
            while not found:  # not by one script that waits: it would belong to the page that is being left
                found = chrome.js("return location.pathname === '/search.html' && typeof Search === 'object' && Search.status &&"
                                  " (document.querySelector('#search-results li a') || Search.status.innerText && {href: 'none'}"
                                  " || {}).href")
            if wanted not in found:
                yield f'the first hit of "{text}" is {found}'
        yield from chrome.complaints()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", help="one that is built already")
    parser.add_argument("--shots", help="a folder for pictures of pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = options.site and os.path.abspath(options.site)
        if not site:
            if subprocess.run(["sh", "-c", "command -v sphinx-build"], stdout=subprocess.DEVNULL).returncode:
                print("sphinx-build is not installed (tools/setup site)")
                return 77
            site = os.path.join(folder, "site")
            subprocess.run([os.path.join(ROOT, "site", "build"), site], check=True)
        faults = list(faults_of_files(site))
        if program():
            server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for width in (1400, 390):
                faults += faults_in_browser(f"http://127.0.0.1:{server.server_port}/", width, options.shots)
    print("".join(fault + "\n" for fault in faults), end="")
    return 1 if faults else 0


sys.exit(main())
