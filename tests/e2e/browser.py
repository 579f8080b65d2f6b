"""A browser for tests: Chromium without a window, driven over a pipe (DevTools protocol). Nothing but Python is needed."""

import base64
import datetime
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

SECRETS = {"authorization": "Bearer ", "x-schedulearn-code": "", "x-schedulearn-session": "", "cookie": ""}  # headers that say who asks, and what comes before the secret

# Where an element can be pressed; null while it is not there, moves, or is covered.
POINT = """(async () => {
    const find = () => %s;
    const e = find();
    if (!e) return null;
    e.scrollIntoView({block: 'center'});
    const place = () => JSON.stringify(e.getBoundingClientRect());
    const before = place();
    await new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 100); });
    if (find() !== e || place() !== before) return null;
    const middles = [e.getBoundingClientRect(), ...e.getClientRects()].filter(({width}) => width > 0).map(b => ({x: b.x + b.width / 2, y: b.y + b.height / 2}));
    return middles.find(({x, y}) => { const over = document.elementFromPoint(x, y); return over && (e.contains(over) || over.closest('label')?.control === e); }) ?? null;
})()"""
# The next click counts only if it begins and ends on the element; any other reaches nothing. `what` it was that it reached.
AIM = """(() => {
    const e = %s;
    const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'];
    const aim = window.aim = {hit: false, what: 'nothing was clicked', leave: () => kinds.forEach(kind => removeEventListener(kind, guard, true))};
    let isOn = true;
    function guard(event) {
        isOn &&= !!e && (e.contains(event.target) || event.target.closest?.('label')?.control === e);
        if (!isOn) {
            aim.what = 'a ' + event.type + ' on ' + event.target.outerHTML?.slice(0, 200);
            event.preventDefault();
            event.stopImmediatePropagation();
        }
        if (event.type !== 'click') return;
        aim.hit = isOn;
        aim.leave();
    }
    kinds.forEach(kind => addEventListener(kind, guard, true));
})()"""
# The median time, in milliseconds, that a list of 400 rows takes to be made and laid out on a page of its own.
YARDSTICK = """(() => {
    const times = [];
    for (let round = 0; round < 15; ++round) {
        const began = performance.now(), list = document.createElement('div');
        document.body.append(list);
        for (let i = 0; i < 400; ++i) {
            const row = document.createElement('div');
            row.innerHTML = `<span>${i}</span> <b style="color:#${100 + i}">row ${i * 7919}</b> <a href="#${i}">${i % 7}</a>`;
            list.append(row);
        }
        list.getBoundingClientRect();
        list.remove();
        times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b)[7];
})()"""
YARDSTICK_MS = 18  # on the machine of docs/benchmarks.md


class Browser:
    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="schedulearn-browser-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def connect():  # the browser reads file 3 and writes file 4
            os.dup2(theirs_in, 100)
            os.dup2(theirs_out, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.reads, self.writes = ours_in, ours_out
        self.rest, self.answers, self.pages, self.last, self.unawaited = b"", {}, {}, 0, set()
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.reads)
        os.close(self.writes)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30
        while number not in self.answers:
            self.pump(max(0, deadline - time.monotonic()))
            assert time.monotonic() < deadline, f"{method}: the browser did not answer"
        answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def tell(self, method, session, **parameters):
        """A call whose answer nobody waits for."""
        self.last += 1
        os.write(self.writes, json.dumps({"id": self.last, "method": method, "params": parameters, "sessionId": session}).encode() + b"\0")
        self.unawaited.add(self.last)

    def pump(self, limit_s=0.0):
        """Takes in what the browser says."""
        if not select.select([self.reads], [], [], limit_s)[0]:
            return
        piece = os.read(self.reads, 1 << 20)
        assert piece, "the browser has ended"
        *messages, self.rest = (self.rest + piece).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if message.get("id") in self.unawaited:
                self.unawaited.discard(message["id"])
            elif "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].hear(message["method"], message["params"])

    def page(self, width=1280, height=900):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, width, height)

    def slowness(self):
        """How many times as long as on the machine of docs/benchmarks.md the browser takes now, from 1 to 10: limits of times grow by it."""
        page = self.page()
        took = page.run(YARDSTICK)
        page.call("Page.close")
        return min(10.0, max(1.0, took / YARDSTICK_MS))


class Page:
    def __init__(self, browser, session, width, height):
        self.browser, self.session = browser, session
        self.requested, self.secrets, self.complaints, self.traced = [], set(), [], None
        self.answer_instead, self.withheld = None, []
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def hear(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"].removeprefix("blob:"))  # what the page has made itself names its origin
        if method in ("Network.requestWillBeSent", "Network.requestWillBeSentExtraInfo"):
            headers = parameters.get("request", parameters)["headers"]
            self.secrets |= {value.removeprefix(SECRETS[name.lower()]) for name, value in headers.items() if name.lower() in SECRETS}
        if method == "Fetch.requestPaused":
            self._answer(parameters["requestId"], parameters["request"])
        if method == "Tracing.dataCollected" and self.traced is not None:
            self.traced += parameters["value"]
        if method == "Tracing.tracingComplete":
            self.is_traced = True
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        if method == "Log.entryAdded" and parameters["entry"]["source"] in ("security", "violation"):
            self.complaints.append(parameters["entry"]["text"])
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.complaints.append(str([argument.get("value") for argument in parameters["args"]]))

    def intercept(self, answer):
        """From now on `answer(method, address)` says of every request below the page's origin what becomes of it: None (it is sent), "withhold"
        (until let_go), or (status, body) as its answer. None instead of a function: everything is sent again."""
        self.answer_instead = answer
        self.call("Fetch.enable", patterns=[{"urlPattern": "*/api/v1/*"}]) if answer else self.call("Fetch.disable")

    def let_go(self):
        for request in self.withheld:
            self.browser.tell("Fetch.continueRequest", self.session, requestId=request)
        self.withheld = []

    def _answer(self, request, asked):
        address = asked["url"].partition("/api/v1/")[2]
        instead = self.answer_instead(asked["method"], address) if self.answer_instead else None
        if instead == "withhold":
            self.withheld.append(request)
        elif instead is None:
            self.browser.tell("Fetch.continueRequest", self.session, requestId=request)
        else:
            status, body = instead
            kind = "application/json" if status < 400 else "application/problem+json"
            self.browser.tell("Fetch.fulfillRequest", self.session, requestId=request, responseCode=status, body=base64.b64encode(json.dumps(body).encode()).decode(),
                              responseHeaders=[{"name": "Content-Type", "value": kind}])

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def clock_shows(self, hour):
        """The page is where it is between `hour` and the next one now, whatever the time of the day is here. At 23, forecasts
        name the day, as do times of whatever was before: times are longest then; at 12 none does."""
        offset = hour - datetime.datetime.now(datetime.timezone.utc).hour
        east = offset if offset <= 14 else offset - 24
        self.call("Emulation.setTimezoneOverride", timezoneId=f"Etc/GMT{-east:+d}")  # with the sign of POSIX: west of Greenwich is positive

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && document.querySelector('main') !== null", "the page")

    def run(self, expression):
        """The value of an expression or of a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, f"{expression}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait(self, condition, what=None, limit_s=20):
        deadline = time.monotonic() + limit_s
        while True:
            try:
                value = self.run(condition)
            except AssertionError as gone:  # between two documents
                value = None
                if "context" not in str(gone):
                    raise
            if value:
                return value
            assert time.monotonic() < deadline, f"{what or condition} did not come true in {limit_s} s; the page shows:\n{self.text()}\n{self.complaints}"
            self.browser.pump(0.03)

    def text(self):
        return self.run("document.body.innerText")

    def wait_text(self, text, limit_s=20):
        self.wait(f"document.body?.innerText.includes({json.dumps(text)})", f"the text {text!r}", limit_s)

    def _point(self, find):
        """Where the element can be pressed, once it has stopped moving and nothing lies over it."""
        return self.wait(POINT % find, find)

    def click(self, text, within="document", kind="button, a, summary, label"):
        """Clicks what has this text or name, as a user would."""
        wanted = json.dumps(text)
        self._press(f"""[...(({within})?.querySelectorAll({json.dumps(kind)}) ?? [])].find(e => e.offsetParent !== null && !e.disabled && ((e.getAttribute('aria-label') ?? '') === {wanted} || e.innerText.trim() === {wanted}))""")

    def click_at(self, selector):
        self._press(f"document.querySelector({json.dumps(selector)})")

    def _press(self, find):
        """What the page moves away under the mouse is looked for again; a press that would hit something else does nothing."""
        deadline = time.monotonic() + 20
        while True:
            point = self._point(find)
            self.run(AIM % find)
            for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, button="none" if kind == "mouseMoved" else "left", clickCount=0 if kind == "mouseMoved" else 1, **point)
            missed = self.wait("window.aim ? (window.aim.leave(), window.aim.hit ? 'nothing' : window.aim.what) : 'nothing'")  # another document has none
            if missed == "nothing":
                return
            assert time.monotonic() < deadline, f"{find} is not reached: {missed}"

    def fill(self, selector, text):
        field = f"document.querySelector({json.dumps(selector)})"
        self.click_at(selector)
        self.wait(f"document.activeElement === {field}", f"the focus in {selector}")
        self.run(f"{field}.select?.()")
        self.call("Input.insertText", text=text)

    def key(self, *names):
        for name in names:
            text = name if len(name) == 1 else {"Enter": "\r", "Tab": "\t"}.get(name, "")
            code = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32}.get(name, ord(name.upper()) if len(name) == 1 else 0)
            self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text, windowsVirtualKeyCode=code)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def _trace(self, work):
        """What the browser did while work() was done, and on which threads pages were drawn."""
        self.traced, self.is_traced = [], False
        self.call("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": ["devtools.timeline", "disabled-by-default-devtools.timeline", "loading"], "excludedCategories": ["*"]})
        work()
        self.call("Tracing.end")
        while not self.is_traced:
            self.browser.pump(1)
        return {(event["pid"], event["tid"]) for event in self.traced if event["name"] in ("UpdateLayoutTree", "FireAnimationFrame", "EventDispatch")}

    def first_paint(self, work):
        """The processor time, in milliseconds, that the page took until it first showed anything, in a work() that opens it."""
        self._trace(work)
        first = max((event for event in self.traced if event["name"] == "firstContentfulPaint"), key=lambda event: event["ts"])
        return sum(event.get("tdur", 0) for event in self.traced if event["name"] == "RunTask" and (event["pid"], event["tid"]) == (first["pid"], first["tid"]) and event["ts"] < first["ts"]) / 1000

    def frames(self, work):
        """What drawing cost while work() was done, in milliseconds: (times between frames, times the page worked per frame)."""
        mains = self._trace(work)
        drawn = sorted(event["ts"] for event in self.traced if event["name"] == "AnimationFrame::Presentation")
        tasks = [(event["ts"], event.get("tdur", event.get("dur", 0))) for event in self.traced if event["name"] == "RunTask" and (event["pid"], event["tid"]) in mains]
        between = list(zip(drawn, drawn[1:]))
        busy = [sum(length for begin, length in tasks if first <= begin < second) / 1000 for first, second in between]
        return [(second - first) / 1000 for first, second in between], busy

    def scroll(self, selector, distance, speed):
        """As with a wheel or a finger: so many pixels, so many a second."""
        point = self._point(f"document.querySelector({json.dumps(selector)})")
        self.call("Input.synthesizeScrollGesture", x=point["x"], y=point["y"], yDistance=-distance, speed=speed, gestureSourceType="mouse")

    def picture(self, path, whole=True):
        """Of all of the page, or of what is in the window."""
        if whole:
            width, height = self.run("[innerWidth, Math.max(innerHeight, Math.min(2600, document.documentElement.scrollHeight))]")
            self.size(width, height)
            self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")  # all of it is drawn
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
