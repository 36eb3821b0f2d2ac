// What every page has on which people play: the connection to the server, which holds the game, and files.
"use strict";

// A function that says whether the key of an event is held and repeats too fast.
coterie.repeats = function () {
  const EVERY = 90; // milliseconds
  let last = 0;
  return (event) => {
    if (event.repeat && performance.now() - last < EVERY) return true;
    last = performance.now();
    return false;
  };
};

// take(message): a game has come; lost(): the connection has; tell(...parts): what a person is told about it.
// Gives {send(what), file: an element for the page, files(formats): buttons to save and open games}.
coterie.table = function ({ take, lost, tell }) {
  const { make, visible } = coterie;
  const SESSION = "coterie-session";
  let socket, waited = 0, timer = 0;

  function connect() {
    clearTimeout(timer);
    let known = "";
    try { known = sessionStorage.getItem(SESSION) || ""; } catch (error) { /* without storage each reload is a new game */ }
    const address = new URL(`play?session=${encodeURIComponent(known)}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const mine = socket = new WebSocket(address);
    mine.onmessage = (event) => { if (mine === socket) received(JSON.parse(event.data)); };
    mine.onclose = (event) => { if (mine === socket) closed(event); };
  }

  function closed(event) {
    lost();
    const again = make("button", { type: "button", class: "plain", onclick: connect }, "Connect");
    if (event.code === 4001) tell("This game is now shown in another tab. ", again);
    else if (event.code === 1008) tell("The server closed the connection: too many messages, or one that was too long. ", again);
    else if (event.code !== 1013) {
      waited = Math.min(5000, waited * 2 || 500);
      tell("No connection to the server; trying again. If it was stopped, start it again. ", again);
      timer = setTimeout(connect, waited);
    }
  }

  function received(sent) {
    if (sent.kind === "refused") return tell(visible(sent.why));
    if (sent.kind === "file") return download(sent);
    waited = 0;
    if (sent.session) {
      try { sessionStorage.setItem(SESSION, sent.session); } catch (error) { /* as above */ }
    }
    take(sent);
  }

  function send(what) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(what));
  }

  function download({ name, text }) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const file = make("input", { type: "file", accept: ".json,.jsonl,.pgn,.sgf", class: "unseen", tabindex: "-1", "aria-hidden": "true" });
  file.addEventListener("change", async () => {
    const [one] = file.files;
    file.value = "";
    if (!one) return;
    if (one.size > 900000) return tell(`${visible(one.name)} is too large: at most 900 kB can be opened here.`);
    send({ do: "load", name: one.name, text: await one.text() });
  });

  const files = (formats) => [
    ...formats.map((format) => make("button", { type: "button", class: "plain", onclick: () => send({ do: "save", name: format }) }, `Save ${format}`)),
    make("button", { type: "button", class: "plain", onclick: () => file.click() }, "Open a file …"),
  ];

  connect();
  return { send, file, files };
};
