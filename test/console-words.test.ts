// The console speaks the field's words: each former word has one replacement, which the console uses, and is not left in any text.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from '@babel/parser';
import { rootDirectory } from './check.ts';
import { projectFiles } from './sources.ts';

/** A string is a whole text; a pattern is found anywhere in one. */
type Former = string | RegExp;

const WORDS: readonly [former: Former, present: string][] = [
  // Navigation
  ['Build with it', 'Developers'],
  ['What is sold', 'Catalog'],
  ['Who uses it', 'Customers'],
  ['Traffic', 'Monitoring'],
  ['Keys', 'API keys'],
  ['Audit', 'Audit log'],
  ['Your sign-in', 'Account security'],
  ['Light or dark', 'Theme'],
  [/\b[Aa]s the system/, 'System'],
  // Keys
  [/\b[Mm]ake a key/, 'Create API key'],
  [/\bkey .* is made\b/, 'API key created'],
  ['What applications show to be let in', 'Authenticate your applications'],
  [/\bIt ends:/, 'Expires'],
  [/\bquota is:/, 'Resets'],
  ['May use', 'Model access'],
  ['New secret', 'Rotate'],
  [/\bBegins with\b/, '…'],
  [/\b[Rr]equests a minute\b/, 'Requests per minute (RPM)'],
  [/\b[Mm]essages at once\b/, 'Concurrent requests'],
  [/\b[Pp]ages that may use\b/, 'Allowed origins'],
  [/\b[Aa]ddresses that may use\b/, 'Allowed IPs'],
  [/\bMade by\b/, 'Created by'],
  [/\bopens nothing\b/, 'Requests with this key are rejected'],
  // Request
  ['How it went', 'Timeline'],
  ['What it was', 'Details'],
  ['What it cost', 'Cost breakdown'],
  ['What it took', 'Balance impact'],
  ['What is left of it', 'Margin'],
  ['In the journal', 'Ledger entries'],
  ['Together', 'Total'],
  [/\bin one piece\b/, 'Streaming'],
  ['Counted', 'Token source'],
  [/\b[Cc]aller left\b/, 'Client disconnected'],
  [/\b[Cc]ut by provider\b/, 'Interrupted by provider'],
  ['Provider interrupted', 'Interrupted by provider'],
  ['Service interrupted', 'Interrupted by service'],
  [/\b[Ww]orked out again\b/, 'Verified: recalculated cost matches'],
  // Overview and usage
  [/\b[Hh]alf within\b/, 'p50'],
  [/\b95 of 100\b/, 'p95'],
  [/\b[Nn]ot completed\b/, 'Error rate'],
  [/\brequest that was admitted\b/, 'All accepted requests'],
  ['Last requests', 'Recent requests'],
  // Billing
  ['Use over time', 'Usage'],
  ['Balance, day by day', 'Daily balance'],
  ['Held now', 'Reserved'],
  ['To, with this day', 'To'],
  [/\bJournal\b/, 'Transactions'],
  [/\bBelow zero\b/, 'Enter a negative amount to deduct'],
  ['Debt given up', 'Debt write-off'],
  [/\bfor ever\b/, 'only once'],
  [/\bStatement for\b/, 'statement'],
  ['Invite its owner', 'Invite owner'],
  // Catalog
  ['Factor', 'Price multiplier'],
  ['Sold by', 'Groups'],
  ['Name for people', 'Display name'],
  [/^(?:Other names|Lead here)/, 'Aliases'],
  [/\b[Ii]ts name there\b/, 'Upstream model'],
  [/\bat most$/, 'Max input tokens'],
  ['Show what will change', 'Review changes'],
  ['works', 'Healthy'],
  ['fails', 'Failing'],
  ['How its models do', 'Model health'],
  [/\broutes? rests?\b/, 'paused'],
  [/\b[Mm]end\b/, 'Edit connection'],
  ['Add provider', 'Create provider'],
  ['Give plan', 'Assign plan'],
  // People, sign-in and playground
  [/\b[Ii]nvite somebody\b/, 'Invite user'],
  [/\bgood for one time\b/, 'Single use; expires in 7 days'],
  [/\bsign in by it\b/, 'Used to sign in'],
  ['Become the first operator', 'Create admin account'],
  [/\bNobody operates\b/, 'Set up Turnpike'],
  ['Tokens at most', 'Max tokens'],
  ['Answer anew', 'Regenerate'],
  ['As it needs', 'Adaptive'],
  ['Put in an example', 'Insert example'],
  [/\bmachine's operator\b/, 'CLI'],
  // One word for one thing
  [/\b[Aa]ccounts? above\b/, 'Parent account'],
  [/\b[Aa]ccounts? below\b/, 'Sub-accounts'],
  [/\b[Mm]ails?\b(?! address)/, 'Email'],
  [/^(?:changed|updated) (?:an? (?!payment)|settings|codes|automatic)/, 'edited an account'],
];

/** Forms that the English of the console does not have. */
const FORMS: readonly [form: RegExp, instead: string][] = [
  [/\d %|\} %/, 'no space before %'],
  [/[a-z] …$/, 'no space before an ellipsis that ends a text'],
  [/\b(?:[Ww]ho(?:m|so)?ever|[Ee]verybody|[Ss]omebody|[Aa]nybody)\b/, '"anyone", "a user", or a passive sentence'],
  [/\bpeople who look after\b/, '"operator" or "administrator"'],
  [/^Empty: /, '"Leave empty to …"'],
  [/\b[Ww]hat (?:waits|is left|is used)\b/, 'the noun'],
  [/\bpresent (?:plan|month|period|app)\b/, '"current"'],
  [/^1 [a-z]+s$/, 'countOf()'],
];

/** Texts in which a former word means something else. */
const ALLOWED = new Set(['mail', 'route.mail']);

const texts = projectFiles()
  .filter((file) => /^console\/.*\.tsx?$/.test(file))
  .flatMap((file) => textsOf(file));

test('no former word is left in a text of the console', () => {
  const left = texts.flatMap(({ place, text }) =>
    WORDS.filter(([former]) => contains(text, former)).map(([, present]) => `${place}: "${text}" → ${present}`),
  );
  expect(left).toEqual([]);
});

test('the console uses each word that replaces a former one', () => {
  const unused = WORDS.map(([, present]) => present).filter(
    (present) => !texts.some(({ text }) => text.includes(present)),
  );
  expect(unused).toEqual([]);
});

test('texts of the console have none of the forms that read as translated', () => {
  const found = texts.flatMap(({ place, text }) =>
    FORMS.filter(([form]) => form.test(text)).map(([, instead]) => `${place}: "${text}" → ${instead}`),
  );
  expect(found).toEqual([]);
});

function contains(text: string, former: Former): boolean {
  if (ALLOWED.has(text)) return false;
  return typeof former === 'string' ? text === former : former.test(text);
}

interface Text {
  place: string;
  text: string;
}

/** Strings, templates and texts of elements, without their expressions. */
function textsOf(file: string): Text[] {
  const source = readFileSync(join(rootDirectory, file), 'utf8');
  const found: Text[] = [];
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) collect(one);
    else if (isNode(node) && !/^(?:Import|TS(?:TypeAlias|Interface|Union|Literal))/.test(node.type)) {
      const text = shownText(node);
      if (text !== '') found.push({ place: `${file}:${node.loc.start.line}`, text });
      for (const [name, child] of Object.entries(node)) if (!/^(?:loc|.*Comments)$/.test(name)) collect(child);
    }
  };
  collect(parse(source, { sourceType: 'module', plugins: ['typescript', 'jsx'] }).program);
  return found;
}

interface SyntaxNode {
  type: string;
  value?: unknown;
  quasis?: { value: { cooked: string } }[];
  loc: { start: { line: number } };
}

function isNode(node: unknown): node is SyntaxNode {
  return typeof node === 'object' && node !== null && 'type' in node && 'loc' in node;
}

function shownText({ type, value, quasis }: SyntaxNode): string {
  if (type === 'TemplateLiteral') return (quasis ?? []).map(({ value: { cooked } }) => cooked).join('{}');
  return type === 'JSXText' || type === 'StringLiteral' ? String(value).replace(/\s+/g, ' ').trim() : '';
}
