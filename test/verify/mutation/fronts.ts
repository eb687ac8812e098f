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
  [
    'front-native-key',
    'an idempotency key is bound to the client’s own body',
    'checkIdempotency(clientRequest.idempotencyKey, request.native?.text ?? request.text)',
    'checkIdempotency(clientRequest.idempotencyKey, request.text)',
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

export const frontMutations = [...gateway, ...wire, ...embeddings];
