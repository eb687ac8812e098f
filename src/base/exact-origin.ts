// Origins as browsers send them. They are compared byte for byte, so only that one form is taken.

/** Whether the text is what a browser would send as `origin`. */
export function isExactOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,*]+$/.test(text)) return false;
  const url = URL.parse(text);
  if (url === null) return false;
  return url.origin === 'null' ? url.href.replace(/\/$/, '') === text : url.origin === text;
}
