// Counts the pages of a PDF file where that can be seen without reading the format: in files whose page
// objects stand in plain text. Files that compress them (object streams) are told as not countable.

const BASE64_CHARACTERS_MAX = 8 * 1024 * 1024; // a longer file is not searched: it would hold up the event loop

// Names may be written with escapes: "/Pa#67e" is a page too. "/Pages" is a node of the tree, not a page.
const PAGE = /\/(?:P|#50)(?:a|#61)(?:g|#67)(?:e|#65)(?![A-Za-z#])/g;
const TREE_COUNT = /\/Count\s*(\d{1,9})/g;
const OBJECT_STREAM = /\/(?:O|#4[fF])(?:b|#62)(?:j|#6[aA])(?:S|#53)(?:t|#74)(?:m|#6[dD])/;

/**
 * The pages of the file, at most `pagesMax`; null when they cannot be counted. Page objects and the page
 * tree's own counts are both looked at, and the larger figure is taken.
 */
export function countPages(base64: string, pagesMax: number): number | null {
  if (base64.length > BASE64_CHARACTERS_MAX) return null;
  const file = Buffer.from(base64, 'base64').toString('latin1');
  if (OBJECT_STREAM.test(file)) return null;
  let pages = 0;
  for (const _ of file.matchAll(PAGE)) if (++pages >= pagesMax) return pagesMax;
  if (pages === 0) return null;
  let nodes = 0; // more nodes of the tree than pages there may be: whatever they say, it is the most
  for (const [, count] of file.matchAll(TREE_COUNT)) {
    if (++nodes >= pagesMax) return pagesMax;
    pages = Math.max(pages, Number(count));
  }
  return Math.min(pagesMax, pages);
}
