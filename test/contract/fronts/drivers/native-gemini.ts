// Providers of Gemini's protocol, for its own clients. It has no tests of its own.

import type { Json } from '../front-driver.ts';
import { CREDENTIAL, type NativeDriver } from '../native-driver.ts';
import { generateContent } from './generate-content.ts';

const USAGE = { promptTokenCount: 25, candidatesTokenCount: 12, totalTokenCount: 37, trafficType: 'ON_DEMAND' };
const IDENTITY = { modelVersion: 'gemini-3-flash-001', responseId: 'g-1', createTime: '2026-11-24T10:00:00Z' };
const said = (text: string, more: Json = {}, candidate: Json = {}): Json => ({
  candidates: [{ content: { parts: [{ text, ...more }], role: 'model' }, index: 0, safetyRatings: [], ...candidate }],
  ...IDENTITY,
});
const ended = (text: string): Json => ({
  ...said(text, { thoughtSignature: 'R29vZ2xl' }, { finishReason: 'STOP', avgLogprobs: -0.1 }),
  usageMetadata: USAGE,
});
const eventText = (chunk: Json) => `data: ${JSON.stringify(chunk)}\n\n`;
const limited = { error: { code: 429, message: 'Quota of project 4711', status: 'RESOURCE_EXHAUSTED', details: [] } };

const CONTENTS = '"contents":[{"parts":[{"text":"a\\u0020b"}]}]';
const BODIES: NativeDriver['bodies'] = [
  [
    'its own limit',
    `{ ${CONTENTS},  "safety_settings": [{"threshold":"Y"}], "generationConfig" : {"seed":1.00, "maxOutputTokens":64 }}`,
    `{ ${CONTENTS},  "safety_settings": [{"threshold":"Y"}], "generationConfig" : {"seed":1.00, "maxOutputTokens":50 },"store":false}`,
  ],
  [
    'the other name of its limit',
    `{${CONTENTS},"generation_config":{"max_output_tokens":64, "top_p":0.950}}`,
    `{${CONTENTS},"generation_config":{ "top_p":0.950,"maxOutputTokens":50},"store":false}`,
  ],
  ['no limit', `{${CONTENTS}}`, `{${CONTENTS},"generationConfig":{"maxOutputTokens":50},"store":false}`],
  [
    'no limit, written out',
    `{"generationConfig":null,${CONTENTS}}`,
    `{"generationConfig":{"maxOutputTokens":50},${CONTENTS},"store":false}`,
  ],
];

const part = (one: Json) => ({ contents: [{ parts: [{ text: 'a' }, one] }] });
const config = (one: Json) => ({ generationConfig: one });
const file = (fileUri: string, mimeType = 'image/png') => part({ fileData: { fileUri, mimeType } });
const STORED = { mimeType: 'image/png', fileUri: 'gs://bucket/a' };
const CALL = { functionCall: { name: 'f', args: {} } };
const resultOf = (parts: Json[]) => ({ functionResponse: { name: 'f', response: {}, parts } });
const NOT_OFFERED: [path: string, members: Json][] = [
  ['cachedContent', { cachedContent: 'cachedContents/1' }],
  ['cached_content', { cached_content: 'cachedContents/1' }],
  ['serviceTier', { serviceTier: 'FLEX' }],
  ['store', { store: true }],
  ...['googleSearch', 'google_search', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'fileSearch'].map(
    (name): [string, Json] => [`tools.0.${name}`, { tools: [{ [name]: {} }] }],
  ),
  ...['computerUse', 'googleMaps', 'retrieval', 'aToolOfTomorrow'].map((name): [string, Json] => [
    `tools.1.${name}`,
    { tools: [{ functionDeclarations: [] }, { [name]: {} }] },
  ]),
  ['generationConfig.responseModalities', config({ responseModalities: ['TEXT', 'AUDIO'] })],
  ['generationConfig.response_modalities', config({ response_modalities: ['AUDIO'] })],
  ['generationConfig.candidateCount', config({ candidateCount: 2 })],
  ['generationConfig.max_output_tokens', config({ maxOutputTokens: 5, max_output_tokens: 50 })],
  ['generationConfig.speechConfig', config({ speechConfig: {} })],
  ['generationConfig.imageConfig', config({ imageConfig: {} })],
  ['contents.0.parts.1.fileData.fileUri', file('https://generativelanguage.googleapis.com/v1beta/files/a')],
  ['contents.0.parts.1.fileData.fileUri', file('https://youtu.be/a', 'video/mp4')],
  ['contents.0.parts.1.fileData.fileUri', file('gs://bucket/a')],
  ['contents.0.parts.1.fileData.fileUri', file('http://example.com/a.png')],
  ['contents.0.parts.1.fileData.mimeType', file('https://example.com/a.mp4', 'video/mp4')],
  ['contents.0.parts.1.fileData.mimeType', part({ fileData: { fileUri: 'https://example.com/a' } })],
  ['contents.0.parts.1.inlineData.mimeType', part({ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } })],
  ...[{ text: 'b' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { thought: true }].map(
    (beside): [string, Json] => ['contents.0.parts.1', part({ ...beside, fileData: STORED })],
  ),
  ['systemInstruction.parts.0', { systemInstruction: { parts: [{ text: 'a', fileData: STORED }] } }],
  ['systemInstruction.parts.0', { systemInstruction: { parts: [{ fileData: STORED }] } }],
  ['contents.1.parts.0.fileData', { contents: [{ parts: [] }, { role: 'model', parts: [{ fileData: STORED }] }] }],
  ['contents.1.parts.0', { contents: [{ parts: [] }, { role: 'model', parts: [{ ...CALL, fileData: STORED }] }] }],
  [
    'contents.1.parts.0',
    { contents: [{ parts: [] }, { role: 'model', parts: [{ thought: true, fileData: STORED }] }] },
  ],
  [
    'contents.1.parts.1.functionResponse.parts.0.fileData.fileUri',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([]), resultOf([{ fileData: STORED }])] }] },
  ],
  [
    'contents.1.parts.0.functionResponse.parts.0',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([{ inlineData: STORED, fileData: STORED }])] }] },
  ],
  ['contents.0.parts.1.videoMetadata', part({ text: 'b', videoMetadata: { fps: 1 } })],
  ['contents.0.parts.1.executableCode', part({ executableCode: { code: '1' } })],
  ['contents.0.parts.1.aPartOfTomorrow', part({ aPartOfTomorrow: 1 })],
  [
    'contents.1.parts.0.functionResponse.parts.0.fileData.fileUri',
    { contents: [{ role: 'model', parts: [CALL] }, { parts: [resultOf([{ fileData: STORED }])] }] },
  ],
];

const KNOWN = generateContent.body({
  members: { toolConfig: { functionCallingConfig: { mode: 'AUTO' } }, generationConfig: { topK: 1 } },
});

export const nativeGemini: NativeDriver = {
  front: generateContent,
  kind: 'gemini',
  model: 'gemini-3-flash',
  path: '/v1beta/models/gemini-3-flash:generateContent',
  streamPath: '/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse',
  credential: { 'x-goog-api-key': CREDENTIAL },
  bodies: BODIES,
  answer: ended('Hi'),
  events: (texts) => ({
    begun: texts.flatMap((text, place) => [...(place === 0 ? [] : [{}]), said(text)]).map(eventText),
    end: [ended(''), { ...IDENTITY, usageMetadata: USAGE }].map(eventText),
  }),
  limited: { body: JSON.stringify(limited), event: eventText(limited) },
  refused: NOT_OFFERED,
  leftOut: {
    received: {
      ...KNOWN,
      model: 'models/gemini-3-pro',
      labels: { team: 'a' },
      a_field_of_tomorrow: true,
      toolConfig: { ...(KNOWN['toolConfig'] as Json), retrievalConfig: { latLng: {} } },
      generationConfig: { topK: 1, routingConfig: { autoMode: {} } },
    },
    sent: { ...KNOWN, generationConfig: { topK: 1, maxOutputTokens: 50 }, store: false },
  },
  unread: { safetySettings: [] },
};
