// The tables of fields in docs/ against the code: every field that a front reads is in the table of its page, and the table of
// sampling says what each kind of provider is sent. Refused and dropped fields are compared in the folders of the fronts.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import { FIELDS as chatFields } from '../../../src/fronts/chat-completions/chat-fields.ts';
import { FIELDS as embeddingsFields } from '../../../src/fronts/embeddings/embeddings.ts';
import { KEPT_NAMES as geminiFields } from '../../../src/fronts/gemini/read-body.ts';
import { FIELDS as imagesFields } from '../../../src/fronts/images/images.ts';
import { FIELDS as moderationsFields } from '../../../src/fronts/moderations/moderations.ts';
import { FIELDS as rerankFields } from '../../../src/fronts/rerank/rerank.ts';
import { FIELDS as responseFields } from '../../../src/fronts/responses/response-fields.ts';
import { FIELDS as speechFields } from '../../../src/fronts/speech/speech.ts';
import { FIELDS as transcriptionFields } from '../../../src/fronts/transcription/transcription.ts';
import { rootDirectory } from '../../check.ts';
import { drivers } from '../providers/conformance/drivers.ts';
import { ask, attemptOf, json } from '../providers/conformance/exchange.ts';
import { translateBytes } from './translate-bytes.ts';

const readPage = (name: string) => readFileSync(join(rootDirectory, 'docs', `${name}.md`), 'utf8');
const namesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/\w+/g) ?? []);

/** The cells of a table's rows; `head` begins its first line. */
function rowsOf(page: string, head: string): string[][] {
  const lines = page.slice(page.indexOf(`\n| ${head}`) + 1).split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(2, end).map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
}

/** All names of code in the table of requests, and in the paragraphs on what is refused and left out. */
function documented(page: string, head: string): Set<string> {
  const paragraphs = page.split('\n\n').filter((text) => /^\*\*(?:Refused|Left out|Only repeated)\*\*/.test(text));
  return new Set([...rowsOf(page, head).flat(), ...paragraphs].flatMap(namesIn));
}

test.each([
  ['chat-completions', 'Chat Completions | Messages', [...chatFields]],
  ['responses', 'Responses | Messages', [...responseFields]],
  ['gemini', 'Gemini | Messages', geminiFields],
])('every field that the front reads is on the page %s', (name, head, fields) => {
  const names = documented(readPage(name), head);
  // Fields of Responses are on its own page.
  if (name === 'chat-completions') for (const field of responseFields) names.add(field);
  // Where the request is translated, its body is not a field of it; the model and the conversation are what the page is about.
  const own = fields.filter((field) => !['body', 'model', 'messages'].includes(field));
  expect(own.filter((field) => !names.has(field))).toEqual([]);
});

test.each([
  ['embeddings', embeddingsFields],
  ['rerank', rerankFields],
  ['moderations', moderationsFields],
  ['images', imagesFields],
  ['speech', speechFields],
  ['transcription', transcriptionFields],
])('the fields of %s are those of the table', (page, fields) => {
  const listed = rowsOf(readPage(page), 'field |').flatMap(([field = '']) => namesIn(field));
  expect(listed.sort()).toEqual([...fields].filter((field) => field !== 'body').sort());
});

/** Values that occur nowhere else in a request. */
const SAMPLING: Readonly<Record<string, unknown>> = {
  temperature: 0.123,
  top_p: 0.456,
  top_k: 17,
  stop: ['STOP HERE'],
  frequency_penalty: 0.31,
  presence_penalty: 0.32,
  seed: 47_110_815,
};

/** The columns of the table, with a model that accepts all that its kind has. */
const COLUMNS: readonly [kind: string, model: string][] = [
  ['anthropic', 'claude-3-5-haiku-20241022'],
  ['openai', 'qwen3-32b'],
  ['openai-responses', 'gpt-4.1'],
  ['gemini', 'gemini-2.5-flash'],
  ['bedrock', 'eu.amazon.nova-pro-v1:0'],
];

/** "sent", "refused", or "–" if it is left out. */
async function outcomeOf(field: string, kind: string, model: string): Promise<string> {
  const driver = drivers.find((one) => one.kind === kind);
  if (driver === undefined) throw new Error(`no driver of the kind ${kind}`);
  const value = SAMPLING[field];
  const asked = { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }], [field]: value };
  const { message } = translateBytes(chatCompletions, new TextEncoder().encode(JSON.stringify(asked)));
  const attempt = attemptOf(driver, message, { upstreamModel: model });
  const request = { ...attempt.request, protocol: chatCompletions.protocol };
  const { sent } = await ask(driver, { ...attempt, request }, () => json('{}', 500));
  if (sent === null) return 'refused';
  return sent.body.includes(JSON.stringify(value)) ? 'sent' : '–';
}

test('the table of sampling says what each kind of provider is sent', async () => {
  const head = `field | ${COLUMNS.map(([kind]) => `\`${kind}\``).join(' | ')}`;
  const page = readPage('chat-completions');
  expect(page.includes(`\n| ${head} |\n`)).toBe(true);
  const rows = [];
  for (const field of Object.keys(SAMPLING)) {
    const cells = [];
    for (const [kind, model] of COLUMNS) cells.push(await outcomeOf(field, kind, model));
    rows.push([`\`${field}\``, ...cells]);
  }
  expect(rows).toEqual(rowsOf(page, head));
});
