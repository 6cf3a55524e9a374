// What the theme leaves out for readers who use a keyboard or a screen reader.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");

// A table that scrolls sideways can be reached, and then scrolled.
function reachable() {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}
document$.subscribe(() => setTimeout(reachable)); // after the theme has put its frames around tables
addEventListener("resize", reachable);
