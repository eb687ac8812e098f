// The fenced blocks of a page of the documentation, for tests that do what it says. No tests of its own.

export interface PageBlock {
  /** The heading of the second level that it stands under. */
  heading: string;
  /** What stands behind the fence: "sh", "json". */
  language: string;
  code: string;
}

/** In the order of the page. */
export function readBlocks(page: string): PageBlock[] {
  const blocks: PageBlock[] = [];
  let heading = '';
  for (const [, title, language, code = ''] of page.matchAll(/^## (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (language !== undefined) blocks.push({ heading, language, code });
  }
  return blocks;
}
