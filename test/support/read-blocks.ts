// Reads the fenced blocks of a documentation page, for tests that follow it.

export interface PageBlock {
  /** Second-level heading of the block. */
  heading: string;
  /** Third-level heading of the block; empty before the first one under a heading. */
  section: string;
  /** Language of the fence, such as "sh" or "json". */
  language: string;
  code: string;
}

/** In page order. */
export function readBlocks(page: string): PageBlock[] {
  const blocks: PageBlock[] = [];
  let heading = '';
  let section = '';
  for (const [, level, title = '', language, code = ''] of page.matchAll(
    /^(##|###) (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (language !== undefined) blocks.push({ heading, section, language, code });
    else if (level === '###') section = title;
    else [heading, section] = [title, ''];
  }
  return blocks;
}
