// Divides a text of several SQL statements, as migrations have them, so that a test can stop between any two.

/** The statements without their semicolons. Comments, quoted texts and bodies of functions and triggers stay whole. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const isEnd = token === ';' && (!TRIGGER_BODY.test(statement) || /\bEND\s*$/i.test(statement));
    if (!isEnd) statement += token;
    else if (statement.trim() !== '') statements.push(statement.trim());
    if (isEnd) statement = '';
  }
  if (statement.trim() !== '') statements.push(statement.trim());
  return statements;
}

/** Comments, quoted texts, dollar-quoted texts, words, and all other characters. */
const TOKENS = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|\w+|[\s\S]/g;
/** SQLite's triggers have statements between BEGIN and END. */
const TRIGGER_BODY = /^\s*CREATE\s+TRIGGER\b[\s\S]*\bBEGIN\b/i;
