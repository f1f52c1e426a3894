"""The web page in headless Chromium beside a daemon with jobs: page_test.py PROJECT_ROOT ESPER FOLDER.

FOLDER gets screenshots. Checked: names from outside are text, curves have points, nothing is asked of another origin,
nothing breaks the page's policy, and the page says when the daemon is gone and finds it again."""

import pathlib
import signal
import sys

from browser import Browser
from live_daemon import LiveDaemon, skip

root, esper, pictures = (pathlib.Path(word) for word in sys.argv[1:4])
if not Browser.path():
    skip("chromium is missing; scripts/bootstrap --browser installs it")
pictures.mkdir(parents=True, exist_ok=True)
MARKUP = "<img src=x onerror=alert(1)>"
config = root / "configs" / "run" / "digits.yaml"


def text_of(place):
    return f"document.getElementById('{place}').innerText"


with LiveDaemon(esper) as daemon, Browser() as browser:
    for word in ("--set", "epochs=2"), ("--set", "epochs=3"):
        daemon.submit(config, "--name", "digits-short", *word, "--set", "device.threads=1")
    daemon.wait_for(2, {"succeeded"})
    daemon.submit(root / "configs" / "run" / "digits.yaml", "--name", MARKUP, "--set", "epochs=400", "--set", "device.threads=1")
    daemon.submit(config, "--name", "waits-for-the-first", "--priority", "-1")
    daemon.submit(config, "--name", "held-back", "--hold")
    daemon.submit(config, "--name", MARKUP, "--hold", "--priority", "-2")

    browser.open(f"{daemon.url}/?token={daemon.token}")
    browser.wait_for(text_of("connection") + " === 'live'")
    browser.wait_for("document.querySelectorAll('#running svg polyline.training').length === 1", 120)
    browser.wait_for("document.querySelector('#running polyline.training').points.numberOfItems >= 6", 120)
    browser.wait_for("document.querySelector('#running polyline.validation').points.numberOfItems >= 6")
    assert daemon.token not in browser.value("location.href"), "the token stays in the address"
    assert MARKUP in browser.value(text_of("running")), browser.value(text_of("running"))
    assert MARKUP in browser.value(text_of("queue")), browser.value(text_of("queue"))
    assert browser.value("document.querySelectorAll('img').length") == 0, "a name became markup"
    for word in ("waits-for-the-first", "held-back", "queued", "held"):
        assert word in browser.value(text_of("queue")), word
    assert "succeeded" in browser.value(text_of("ended"))
    next_one = browser.value("document.querySelector('#queue tbody .name').innerText")
    assert next_one == "waits-for-the-first", f"the queue begins with {next_one}"
    labels = browser.value("[2.3011, 2.3015, 2.3020, 2.3024].map(value => axis_label(value, .0004, false)).join(' ')")
    assert labels == "2.30110 2.30150 2.30200 2.30240", labels

    # Live: a job that is submitted now comes without a reload, and the curve goes on.
    points = browser.value("document.querySelector('#running polyline.training').points.numberOfItems")
    daemon.submit(config, "--name", "submitted-now", "--hold")
    browser.wait_for(text_of("queue") + ".includes('submitted-now')")
    browser.wait_for(f"document.querySelector('#running polyline.training').points.numberOfItems > {points}")
    browser.wait_for("document.querySelectorAll('#running tbody tr').length > 0", 300)  # seeds

    # What cannot be read is said, and read again.
    browser.value("window.answering = window.fetch, window.fetch = (path, options) =>"
                  " path.startsWith('/v1/jobs?') ? Promise.reject(new Error('refused')) : window.answering(path, options), 0")
    daemon.submit(config, "--name", "submitted-meanwhile", "--hold")
    browser.wait_for(text_of("connection") + ".includes('not up to date: refused')")
    browser.value("window.fetch = window.answering, 0")
    browser.wait_for(text_of("connection") + " === 'live'")
    browser.wait_for(text_of("queue") + ".includes('submitted-meanwhile')")

    browser.look(pictures / "page_light.png", 1100, "light")
    browser.look(pictures / "page_dark_narrow.png", 400, "dark")
    wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"a narrow window scrolls {wide} pixels sideways"

    foreign = [url for url in browser.requests if not url.startswith((daemon.url + "/", "data:", "about:"))]
    assert not foreign, foreign
    assert not browser.complaints, browser.complaints

    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(30)
    browser.wait_for(text_of("connection") + ".includes('no daemon')")
    daemon.__enter__()
    browser.wait_for(text_of("connection") + " === 'live'", 90)

    # The curve has the epochs of a time in which the page heard nothing and another client had the events.
    job = daemon.submit(config, "--name", "followed", "--priority", "5", "--set", "epochs=4000", "--set", "device.threads=1")
    newest = f"(progress.get({job})?.epoch.at(-1) ?? 0)"
    browser.value("window.fetch = (path, options) => {"
                  "  if (path !== '/v1/events') return window.answering(path, options);"
                  "  const stream = new AbortController();"
                  "  window.cut = () => { window.fetch = () => Promise.reject(new Error('cut')); stream.abort(); };"
                  "  return window.answering(path, {...options, signal: stream.signal}); }, 0")
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(30)
    daemon.__enter__()
    browser.wait_for("window.cut !== undefined", 90)
    browser.wait_for(newest + " > 2", 120)
    with daemon.open("/v1/events", 120) as other:
        browser.value("window.cut(), 0")
        browser.wait_for(text_of("connection") + ".includes('no daemon')")
        for _ in range(2):
            while other.readline() != b"event: progress\n":
                pass
        browser.value("window.fetch = window.answering, 0")
        browser.wait_for(text_of("connection") + " === 'live'", 90)
        before = browser.value(newest)
        browser.wait_for(f"{newest} > {before}", 60)
    gaps = browser.value(f"progress.get({job}).epoch.filter((epoch, i, all) => i > 0 && epoch !== all[i - 1] + 1).join(' ')")
    assert gaps == "", f"epochs are missing before {gaps}"
    print(f"{len(browser.requests)} requests, all of {daemon.url}; screenshots in {pictures}")
