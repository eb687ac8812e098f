// Reads what somebody typed or pasted as a list of people: a line each, with columns by commas, semicolons or tabs.

export interface InvitedRow {
  email: string;
  name?: string;
}

/** The first part with an "@" is the email, and the others are the name: "Ada Lovelace <ada@example.com>" is read, too. */
export function readRows(text: string): InvitedRow[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => readRow(line));
}

function readRow(line: string): InvitedRow {
  const parts = line
    .split(/[,;\t<>]/)
    .map((part) => part.replaceAll('"', '').trim())
    .filter((part) => part !== '');
  const email = parts.find((part) => part.includes('@')) ?? parts[0] ?? '';
  const name = parts.filter((part) => part !== email).join(' ');
  return { email, ...(name !== '' && { name }) };
}
