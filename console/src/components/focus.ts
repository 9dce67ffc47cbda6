/** Gives the focus back to what had it before, unless something else has it when what took it is out of the page. */
export function giveFocusBack(before: Element | null): void {
  // While it is taken out, the focus is lost again.
  setTimeout(() => {
    if (document.activeElement === document.body) (before as HTMLElement | null)?.focus();
  });
}
