// Path and query of a request, cut out of the text of its URL: parsing the whole of it costs more than routing.

/** The path without query. */
export function pathOf(url: string): string {
  // A request with no usable host has its path alone here.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  if (start < 0) return '/';
  const end = url.indexOf('?', start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

/** What stands behind the question mark; empty when nothing does. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}
