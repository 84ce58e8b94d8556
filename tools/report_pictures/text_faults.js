// Collects what is wrong with the text of this page, as lines: text outside its box, text over text, lines across text,
// text too small or too pale to read. Runs in the page; the result is the text of the element #text-faults.
(() => {
  const SLACK = 1.5, SMALLEST_PX = 8.5, CONTRAST = 4.5;
  const faults = [];
  const short = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 48));
  const style = (element) => getComputedStyle(element);
  const outside = (inner, outer) =>
    inner.left < outer.left - SLACK || inner.right > outer.right + SLACK ||
    inner.top < outer.top - 2 * SLACK || inner.bottom > outer.bottom + 2 * SLACK;
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK;
  const holds = (box, x, y) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
  const color = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    return numbers.length < 3 || numbers[3] === 0 ? null : numbers.slice(0, 3);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const canvas = style(document.documentElement).colorScheme.includes("dark") &&
    matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = color(style(at).backgroundColor);
      if (found) return found;
    }
    return canvas;
  };
  const readable = (text, ink, paper, size) => {
    if (ink && contrast(ink, paper) < CONTRAST) faults.push(`${text} has a contrast of ${contrast(ink, paper).toFixed(1)}`);
    if (size < SMALLEST_PX) faults.push(`${text} is ${size.toFixed(1)} px high`);
  };

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth + SLACK) faults.push(`the page needs ${root.scrollWidth} px`);
  for (const element of document.body.querySelectorAll("*")) {
    if (element instanceof SVGElement || ["inline", "none", "contents"].includes(style(element).display)) continue;
    if (element.clientWidth && element.scrollWidth > element.clientWidth + SLACK)
      faults.push(`${element.tagName} ${short(element.textContent)} needs ${element.scrollWidth} px, has ${element.clientWidth}`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent instanceof SVGElement || ["SCRIPT", "STYLE"].includes(parent.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const places = [...range.getClientRects()];
    if (!places.length) continue;
    let box = parent;
    while (["inline", "contents"].includes(style(box).display)) box = box.parentElement;
    if (places.some((place) => outside(place, box.getBoundingClientRect()))) faults.push(`${short(node.data)} leaves its ${box.tagName}`);
    readable(short(node.data), color(style(parent).color), behind(parent), parseFloat(style(parent).fontSize));
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.getBoundingClientRect().width) continue;
    const drawn = (query) => [...svg.querySelectorAll(query)].filter((element) => !element.closest("defs"));
    const frame = svg.getBoundingClientRect();
    const boxes = drawn("rect").map((element) => ({ element, place: element.getBoundingClientRect() }));
    const texts = drawn("text").map((element) => ({ element, place: element.getBoundingClientRect(), name: short(element.textContent) }));
    for (const text of texts) {
      const x = (text.place.left + text.place.right) / 2, y = (text.place.top + text.place.bottom) / 2;
      if (outside(text.place, frame)) faults.push(`${text.name} leaves the drawing`);
      for (const box of boxes) {
        if (holds(box.place, x, y) ? outside(text.place, box.place) : overlap(text.place, box.place)) faults.push(`${text.name} crosses the edge of a box`);
      }
      for (const other of texts.slice(0, texts.indexOf(text)))
        if (overlap(text.place, other.place)) faults.push(`${text.name} covers ${other.name}`);
      const fills = boxes.filter((box) => holds(box.place, x, y)).map((box) => color(style(box.element).fill)).filter(Boolean);
      const scale = text.element.getScreenCTM().a;
      readable(text.name, color(style(text.element).fill), fills.pop() || behind(svg.parentElement), parseFloat(style(text.element).fontSize) * scale);
    }
    for (const line of drawn("path, line").filter((element) => style(element).stroke !== "none" && !element.classList.contains("grid"))) {
      const matrix = line.getScreenCTM(), length = line.getTotalLength();
      for (let at = 0; at <= length; at += 2) {
        const point = line.getPointAtLength(at).matrixTransform(matrix);
        const crossed = texts.find(({ place }) => place.left + 1 < point.x && point.x < place.right - 1 && place.top + 2 < point.y && point.y < place.bottom - 2);
        if (crossed) { faults.push(`a line crosses ${crossed.name}`); break; }
      }
    }
  }
  const result = document.createElement("pre");
  result.id = "text-faults";
  result.textContent = [...new Set(faults)].join("\n");
  document.body.append(result);
})();
