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
    'kept.catalog === catalog && kept.name === name && kept.serves === serves',
    'kept.catalog === catalog && kept.name === name',
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
    'this.isWhole = false;\n',
    'this.isWhole &&= true;\n',
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
    'gemini-thought-file',
    'a thought is only text: other content of it would reach the provider unchecked',
    "kind !== 'text' && kind !== 'functionCall'",
    "kind === 'functionResponse'",
  ],
]);

const geminiAnswers = mutate('src/providers/gemini/own-protocol.ts', [
  [
    'gemini-end-first',
    'the end of an answer is sent after settlement',
    'if (events.length === 0 || hasEnded()) return',
    'if (events.length === 0) return',
  ],
  [
    'gemini-chunk-first',
    'a chunk is sent with the last of its events, which the hold covers',
    'place === events.length - 1 ? native : []',
    'place === 0 ? native : []',
  ],
  [
    'gemini-own-limit',
    'the limit that was held replaces the client’s own, by both of its names',
    'max_output_tokens: undefined, maxOutputTokens: maxTokens',
    'maxOutputTokens: maxTokens',
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

const embeddings = mutate('src/providers/embeddings.ts', [
  [
    'embeddings-each',
    'an answer has an embedding for each input',
    'if (vectors.length === count && values.length === count) return vectors;',
    'if (vectors.length === values.length) return vectors;',
  ],
]);

export const frontMutations = [
  ...gateway,
  ...keys,
  ...wire,
  ...embeddings,
  ...geminiBody,
  ...geminiFiles,
  ...geminiAnswers,
];
