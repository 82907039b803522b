/**
 * What the documentation adds for a browser that runs scripts: buttons that copy, one language of several, and results while one types.
 * Without it everything can be read, and the search is a form.
 */

/** The application keeps the reader's language under the same name (web/src/ui/first-call.tsx). */
const LANGUAGE = "language";
const TYPING_MS = 150;
const COPIED_MS = 1_800;

for (const figure of document.querySelectorAll("figure")) addCopyButton(figure);
for (const [nth, group] of document.querySelectorAll(".tabs").entries()) addTabs(group, `code-${nth}`);
for (const input of document.querySelectorAll("[role=search] input"))
  addResults(/** @type {HTMLInputElement} */ (input));

/** @param {HTMLElement} figure */
function addCopyButton(figure) {
  const button = document.createElement("button");
  const what = figure.querySelector("figcaption")?.textContent || "code";
  button.className = "copy";
  button.textContent = "Copy";
  button.ariaLabel = `Copy ${what}`;
  const said = document.createElement("span");
  said.role = "status";
  said.className = "visually-hidden";
  button.onclick = async () => {
    const worked = await navigator.clipboard.writeText(figure.querySelector("code")?.textContent ?? "").then(
      () => true,
      () => false,
    );
    button.textContent = worked ? "Copied" : "Not allowed";
    said.textContent = worked ? `${what} copied` : "Copying was not allowed; select the text instead";
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, COPIED_MS);
  };
  figure.append(button, said);
}

/**
 * @param {Element} group
 * @param {string} id
 */
function addTabs(group, id) {
  const figures = [...group.querySelectorAll("figure")];
  const list = document.createElement("div");
  list.role = "tablist";
  list.ariaLabel = "Language";
  const tabs = figures.map((figure, nth) => {
    const tab = document.createElement("button");
    tab.role = "tab";
    const caption = figure.querySelector("figcaption");
    tab.textContent = caption?.textContent ?? "";
    caption?.remove();
    figure.id = `${id}-${nth}`;
    figure.role = "tabpanel";
    figure.ariaLabel = tab.textContent;
    tab.setAttribute("aria-controls", figure.id);
    tab.onclick = () => {
      localStorage.setItem(LANGUAGE, figure.dataset["language"] ?? "");
      show(nth);
    };
    return tab;
  });
  /** @param {number} chosen */
  const show = (chosen) => {
    for (const [nth, figure] of figures.entries()) {
      figure.hidden = nth !== chosen;
      tabs[nth]?.setAttribute("aria-selected", String(nth === chosen));
      if (tabs[nth]) tabs[nth].tabIndex = nth === chosen ? 0 : -1;
    }
  };
  list.onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = tabs.at((tabs.findIndex(({ tabIndex }) => tabIndex === 0) + step) % tabs.length);
    next?.click();
    next?.focus();
  };
  list.append(...tabs);
  group.prepend(list);
  group.classList.add("chosen");
  const kept = localStorage.getItem(LANGUAGE);
  show(
    Math.max(
      0,
      figures.findIndex(({ dataset }) => dataset["language"] === kept),
    ),
  );
}

/** @param {HTMLInputElement} input */
function addResults(input) {
  const panel = document.createElement("div");
  panel.className = "panel";
  panel.hidden = true;
  input.after(panel);
  const form = /** @type {HTMLFormElement} */ (input.form);
  let asked = 0;
  input.oninput = async () => {
    const nth = ++asked;
    await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
    const text = input.value.trim();
    if (nth !== asked) return;
    if (text === "") {
      panel.hidden = true;
      return;
    }
    const answer = await fetch(`/docs/search?${new URLSearchParams({ q: text })}`);
    if (nth !== asked || !answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    panel.replaceChildren(...(page.querySelector("#found")?.children ?? []));
    panel.hidden = false;
  };
  /** @param {number} step */
  const move = (step) => {
    const stops = [input, ...panel.querySelectorAll("a")];
    const at = stops.indexOf(/** @type {HTMLInputElement} */ (document.activeElement));
    stops.at((at + step) % stops.length)?.focus();
  };
  form.onkeydown = (event) => {
    if (event.key === "Escape") panel.hidden = true;
    if (event.key === "Escape") input.focus();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || panel.hidden) return;
    event.preventDefault();
    move(step);
  };
  panel.onclick = () => {
    panel.hidden = true;
  };
  document.addEventListener("click", ({ target }) => {
    if (!form.contains(/** @type {Node} */ (target))) panel.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
    if (!((event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey)))) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
