// Words of protocols: what a front reads is what a provider writes, and the reverse.

import { expect, test } from 'bun:test';
import { FORMAT_NAME, readFormat, writeFormat } from '../../../src/protocols/answer-format.ts';
import { CUSTOM_JSON, customInput } from '../../../src/protocols/custom-tool.ts';
import { dataUrl, readDataUrl, readPlainDataUrl } from '../../../src/protocols/data-url.ts';
import { googleStatusOf, statusOfGoogle } from '../../../src/protocols/gemini.ts';
import { GEMINI_CHOICES, OPENAI_CHOICES, typeOfChoice, wordOfChoice } from '../../../src/protocols/tool-choice.ts';

test('a tool choice that is written is read as the same one', () => {
  for (const words of [OPENAI_CHOICES, GEMINI_CHOICES]) {
    for (const type of ['auto', 'none', 'any']) {
      expect(typeOfChoice(wordOfChoice(type, words) ?? '', words) as string).toBe(type);
    }
    for (const word of [undefined, null, '', 'tool', 'constructor', {}]) expect(typeOfChoice(word, words)).toBeNull();
    expect(wordOfChoice('tool', words)).toBeNull();
  }
  expect(['auto', 'none', 'any'].map((type) => wordOfChoice(type, OPENAI_CHOICES))).toEqual([
    'auto',
    'none',
    'required',
  ]);
  expect(['auto', 'none', 'any'].map((type) => wordOfChoice(type, GEMINI_CHOICES))).toEqual(['AUTO', 'NONE', 'ANY']);
});

test('a status of Google that is written has a meaning of the same kind when it is read', () => {
  for (let status = 400; status < 600; status++) {
    const read = statusOfGoogle(googleStatusOf(status));
    expect(googleStatusOf(read)).toBe(read === 500 ? 'INTERNAL' : googleStatusOf(status));
  }
  for (const name of ['UNIMPLEMENTED', 'ABORTED', 'INTERNAL', 'NEW']) expect(statusOfGoogle(name)).toBe(500);
});

test('a file in a data URL is read as it was written', () => {
  for (const mediaType of ['image/png', 'application/pdf', '']) {
    const url = dataUrl(mediaType, 'aGk=');
    expect(readDataUrl(url)).toEqual({ mediaType, base64: 'aGk=' });
    expect(readPlainDataUrl(url)).toEqual(mediaType === '' ? null : { mediaType, base64: 'aGk=' });
  }
  expect(readDataUrl('DATA:Image/PNG; charset=x ;BASE64,aGk=')).toEqual({ mediaType: 'image/png', base64: 'aGk=' });
  for (const other of ['data:image/png,aGk=', 'https://a.example/x;base64,aGk=', 'data:', '', 7]) {
    expect(readDataUrl(String(other))).toBeNull();
    expect(readPlainDataUrl(other)).toBeNull();
  }
});

test.each(['json_schema', null])('a format with its schema in %p is read as it was written', (holder) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const written = writeFormat(schema, true, holder);
  expect(readFormat(written, 'format', holder).format).toEqual({ type: 'json_schema', schema });
  expect(JSON.stringify(written)).toContain(`"name":"${FORMAT_NAME}"`);
});

test('the text of a custom tool is read out of the JSON that is written around it', () => {
  for (const text of ['', 'a "b"\n\\', '\u2028{}'])
    expect(customInput(CUSTOM_JSON.before + JSON.stringify(text).slice(1, -1) + CUSTOM_JSON.after)).toBe(text);
});
