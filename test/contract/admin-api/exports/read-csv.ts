// Reads CSV as a spreadsheet does: RFC 4180 with a header, each row by the names of its columns.

export function readCsv(text: string): Record<string, string>[] {
  const [names = [], ...rows] = parse(text);
  return rows.map((cells) => {
    if (cells.length !== names.length) throw new Error(`a row has ${cells.length} cells instead of ${names.length}`);
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']));
  });
}

function parse(text: string): string[][] {
  const rows: string[][] = [];
  let cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const match = cell.exec(text);
    if (match === null) throw new Error(`no CSV from character ${at}: ${text.slice(at, at + 40)}`);
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === ',') continue;
    rows.push(cells);
    cells = [];
  }
  return rows;
}
