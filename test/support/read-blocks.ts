// Reads the fenced blocks of a documentation page, for tests that follow it.

export interface PageBlock {
  /** Second-level heading of the block. */
  heading: string;
  /** Language of the fence, such as "sh" or "json". */
  language: string;
  code: string;
}

/** In page order. */
export function readBlocks(page: string): PageBlock[] {
  const blocks: PageBlock[] = [];
  let heading = '';
  for (const [, title, language, code = ''] of page.matchAll(/^## (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (language !== undefined) blocks.push({ heading, language, code });
  }
  return blocks;
}
