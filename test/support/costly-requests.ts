// Requests of all fronts in which costly JSON stands wherever a client may put a text or a value. It has no tests of its own.

import { costlyBytes, costlyTexts, costlyValues } from './costly-json.ts';

export interface CostlyRequest {
  name: string;
  path: string;
  /** A body of about this many bytes. */
  body(bytes: number): string;
}

/** Write a body with a JSON text, a JSON value, or base64 in it. */
type Slots = Record<string, (given: string) => string>;

const chat = (content: string) => `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":${content}}]}`;
const asked = '{"role":"user","content":"x"}';
const called = (input: string) =>
  `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${input}}}]}`;
const parts = (list: string) => `{"contents":[{"role":"user","parts":[${list}]}]}`;
const modelParts = (list: string) =>
  `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[${list}]},{"role":"user","parts":[{"text":"x"}]}]}`;
const inline = (type: string, data: string) => parts(`{"inlineData":{"mimeType":"${type}","data":${data}}}`);
const items = (list: string) => `{"model":"m","store":false,"input":[{"role":"user","content":"x"},${list}]}`;
const source = (type: string, data: string) =>
  chat(`[{"type":"document","source":{"type":"base64","media_type":"${type}","data":${data}}}]`);

const TEXTS: Readonly<Record<string, Slots>> = {
  '/v1/messages': {
    text: chat,
    'a PDF': (text) => source('application/pdf', text),
    'an image': (text) => chat(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":${text}}}]`),
  },
  '/v1/chat/completions': {
    text: chat,
    'arguments of a call': (text) => `{"model":"m","messages":[${asked},${called(text)}]}`,
    'a file': (text) => chat(`[{"type":"file","file":{"file_data":"data:text/plain;base64,${text.slice(1)}}}]`),
  },
  '/v1/responses': {
    text: (text) => `{"model":"m","store":false,"input":${text}}`,
    'arguments of a call': (text) => items(`{"type":"function_call","call_id":"c","name":"f","arguments":${text}}`),
    reasoning: (text) =>
      items(`{"type":"reasoning","summary":[],"encrypted_content":"turnpike.responses.1.thinking.${text.slice(1)}}`),
  },
  '/v1beta/models/m:generateContent': {
    text: (text) => parts(`{"text":${text}}`),
    'an image': (text) => inline('image/png', text),
    'a PDF': (text) => inline('application/pdf', text),
    'a text file': (text) => inline('text/plain', text),
    'a signature': (text) => modelParts(`{"text":"y","thoughtSignature":${text}}`),
  },
  '/v1/embeddings': { input: (text) => `{"model":"m","input":${text}}` },
};

const VALUES: Readonly<Record<string, Slots>> = {
  '/v1/messages': { metadata: (value) => chat('"x"').replace('{', `{"metadata":{"a":${value}},`) },
  '/v1/chat/completions': {
    metadata: (value) => chat('"x"').replace('{', `{"metadata":{"a":${value}},`),
    content: chat,
  },
  '/v1/responses': { input: (value) => `{"model":"m","store":false,"input":${value}}` },
  '/v1beta/models/m:generateContent': {
    'arguments of a call': (value) => modelParts(`{"functionCall":{"name":"f","args":{"a":${value}}}}`),
    'a result': (value) =>
      `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":${value}}}}]}]}`,
  },
  '/v1/embeddings': { input: (value) => `{"model":"m","input":${value}}` },
};

const BASE64: Readonly<Record<string, Slots>> = {
  '/v1/messages': { 'a PDF': (base64) => source('application/pdf', `"${base64}"`) },
  '/v1/chat/completions': {
    'a text file': (base64) => chat(`[{"type":"file","file":{"file_data":"data:text/plain;base64,${base64}"}}]`),
    'a PDF': (base64) => chat(`[{"type":"file","file":{"file_data":"data:application/pdf;base64,${base64}"}}]`),
  },
  '/v1/responses': {
    'a text file': (base64) =>
      items(`{"role":"user","content":[{"type":"input_file","file_data":"data:text/plain;base64,${base64}"}]}`),
    reasoning: (base64) =>
      items(
        `{"type":"reasoning","summary":[],"encrypted_content":"turnpike.responses.1.thinking.${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}.s"}`,
      ),
  },
  '/v1beta/models/m:generateContent': {
    'a text file': (base64) => inline('text/plain', `"${base64}"`),
    'a PDF': (base64) => inline('application/pdf', `"${base64}"`),
    'a signature': (base64) =>
      modelParts(`{"text":"y","thoughtSignature":"${Buffer.from('turnpike1').toString('base64')}${base64}"}`),
  },
};

/** Every costly JSON in every place of every front. */
export function costlyRequests(): CostlyRequest[] {
  const found: CostlyRequest[] = [];
  const add = (slots: Readonly<Record<string, Slots>>, what: string, make: (bytes: number) => string) => {
    for (const [path, places] of Object.entries(slots))
      for (const [place, write] of Object.entries(places))
        found.push({ name: `${path}: ${what} in ${place}`, path, body: (bytes) => write(make(bytes)) });
  };
  for (const [name, make] of Object.entries(costlyTexts)) add(TEXTS, name, make);
  for (const [name, make] of Object.entries(costlyValues)) add(VALUES, name, make);
  for (const [name, make] of Object.entries(costlyBytes))
    add(BASE64, `${name} in base64`, (bytes) => make((bytes * 3) / 4).toString('base64'));
  return found;
}
