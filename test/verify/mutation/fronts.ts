// Guards of the fronts: what is sold, held and passed on for requests of other protocols.

import { mutate } from './mutation.ts';

const gateway = mutate('src/gateway/gateway.ts', [
  [
    'front-serves',
    'embeddings are not sold by the rates of messages',
    "const serves: Serves = protocol === 'embeddings' ? 'embeddings' : 'messages';",
    "const serves: Serves = 'messages';",
  ],
  [
    'front-kept-offer',
    'an offer kept for one use does not serve another',
    'kept.name === name && kept.serves === serves && kept.plan === plan',
    'kept.name === name && kept.plan === plan',
  ],
]);

const keys = mutate('src/gateway/idempotency-records.ts', [
  [
    'front-native-key',
    'an idempotency key is bound to the client’s own body',
    'if (native !== null) hash.update(native.text);',
    '',
  ],
  [
    'front-message-key',
    'an idempotency key is bound to the model of the path',
    "new Bun.CryptoHasher('sha256').update(text);",
    "new Bun.CryptoHasher('sha256').update(native?.text ?? text);",
  ],
]);

const geminiBody = mutate('src/fronts/gemini/read-body.ts', [
  [
    'gemini-unknown-tool',
    'an unknown tool is refused, because it may have a price',
    'if (others !== undefined) throw wrongField(path, others);',
    '',
  ],
  [
    'gemini-unknown-member',
    'a member that is not known to be free is not passed on',
    'others);\n      this.isWhole = false;\n',
    'others);\n',
  ],
  [
    'gemini-other-name',
    'a priced feature is refused by both of its names',
    "if (!name.includes('_')) return name;",
    'if (name.length > 0) return name;',
  ],
  [
    'gemini-given-twice',
    'a member under both names is refused: the provider may read the other one',
    'if (Object.hasOwn(members, name)) throw wrongField',
    'if (false) throw wrongField',
  ],
]);

const geminiWeight = mutate('src/fronts/gemini/carried-thinking.ts', [
  [
    'gemini-single-weight',
    'thinking counts toward the size of the body also in one object in place of a list',
    'jsonObjects(Array.isArray(value) || value === undefined ? value : [value])',
    'jsonObjects(value)',
  ],
]);

const geminiFiles = mutate('src/fronts/gemini/convert-contents.ts', [
  [
    'gemini-stored-file',
    'a file stored at the provider is not read: it may be of another account',
    "address.protocol !== 'https:' || isOfGoogle(address.hostname)",
    "address.protocol !== 'https:'",
  ],
  [
    'gemini-two-kinds',
    'a part has one kind of content: a second one would reach the provider unchecked',
    'if (kinds.length > 1) throw',
    'if (kinds.length > 9) throw',
  ],
  [
    'gemini-repeated-media',
    'media of a repeated result are held: the provider reads them',
    'conversation.addUser(media, path);\n    return;',
    'return;',
  ],
  [
    'gemini-thought-file',
    'a thought is only text: other content of it would reach the provider unchecked',
    "kinds.some((kind) => kind !== 'text')",
    "kinds.some((kind) => kind === 'functionCall')",
  ],
]);

const nativeAnswers = mutate('src/providers/keep-native.ts', [
  [
    'native-end-first',
    'the end of an answer is sent after settlement',
    'if (events.length === 0 || hasEnded()) return',
    'if (events.length === 0) return',
  ],
  [
    'native-chunk-first',
    'a chunk is sent with the last of its events, which the hold covers',
    'place === events.length - 1 ? native : []',
    'place === 0 ? native : []',
  ],
]);

const geminiLimit = mutate('src/providers/gemini/own-protocol.ts', [
  [
    'gemini-own-limit',
    'the limit that was held replaces the client’s own, by both of its names',
    'max_output_tokens: undefined, maxOutputTokens: maxTokens',
    'maxOutputTokens: maxTokens',
  ],
]);

const responsesBody = mutate('src/fronts/responses/native-body.ts', [
  [
    'responses-unknown-member',
    'a member that is not known to be free is not passed on',
    'Object.hasOwn(kept, name) ? kept[name]?.(inside) : undefined',
    'Object.hasOwn(kept, name) ? kept[name]?.(inside) : inside',
  ],
  [
    'responses-unknown-field',
    'a field that is not known to be free is not passed on',
    'Object.hasOwn(REQUEST, name) ? REQUEST[name]?.(value) : undefined',
    'Object.hasOwn(REQUEST, name) ? REQUEST[name]?.(value) : value',
  ],
  [
    'responses-unknown-type',
    'a tool, item or part of another type is not passed on',
    'Object.hasOwn(kept, type) ? kept[type]?.(value) : undefined',
    'Object.hasOwn(kept, type) ? kept[type]?.(value) : value',
  ],
]);

const responsesInput = mutate('src/fronts/responses/convert-input.ts', [
  [
    'responses-stored-file',
    'a file stored at the provider is not read, whatever is beside it: it may be of another account',
    "if ((part['file_id'] ?? null) !== null) throw",
    "if ((part['file_id'] ?? null) !== null && Object.keys(part).length === 2) throw",
  ],
]);

const responsesSent = mutate('src/providers/openai-responses/own-protocol.ts', [
  [
    'responses-own-limit',
    'the limit that was held replaces the client’s own',
    'max_output_tokens: Math.max(outputTokensLeast, maxTokens),',
    '',
  ],
  ['responses-own-store', 'nothing is stored at the provider', 'store: false,', ''],
]);

const responsesEnd = mutate('src/fronts/responses/response-writer.ts', [
  [
    'responses-nothing-after-error',
    'nothing follows an error',
    '  #fail(event: JsonObject): string {\n    this.end();',
    '  #fail(event: JsonObject): string {',
  ],
]);

const wire = mutate('src/wire/parse-message-request.ts', [
  [
    'front-native-bytes',
    'the whole native body is held',
    'native === null ? bytes : Math.max(bytes, Buffer.byteLength(native.text))',
    'bytes',
  ],
]);

const embeddings = mutate('src/providers/read-vectors.ts', [
  [
    'embeddings-each',
    'an answer has an embedding for each input',
    'if (converted.length === count && items.length === count)',
    'if (converted.length === items.length)',
  ],
]);

export const frontMutations = [
  ...gateway,
  ...keys,
  ...wire,
  ...embeddings,
  ...responsesBody,
  ...responsesInput,
  ...responsesSent,
  ...responsesEnd,
  ...geminiBody,
  ...geminiWeight,
  ...geminiFiles,
  ...nativeAnswers,
  ...geminiLimit,
];
