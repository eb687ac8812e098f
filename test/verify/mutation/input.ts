// The guards of what comes from outside: lengths, counts and amounts that are none, and bodies that are costly.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const numbers = mutate('src/base/checked-number.ts', [
  [
    'counts-whole',
    'counts are whole numbers',
    'return Number.isSafeInteger(value) && (value as number) >= 0 &&',
    'return (value as number) >= 0 &&',
  ],
  ['counts-not-negative', 'what is counted is never negative', '&& (value as number) >= 0 &&', '&&'],
  ['counts-digits', 'a whole number is spelled by digits alone', 'if (!/^\\d+$/.test(text)) return null;', ''],
]);

const rooms = mutate('src/base/fair-share-quota.ts', [
  [
    'room-take-whole',
    'only whole numbers are taken from a quota',
    "assert(isWholeNumber(amount), 'an amount taken from a quota is a whole number');",
    '',
  ],
  [
    'room-back-whole',
    'only whole numbers are returned to a quota',
    "assert(isWholeNumber(amount), 'an amount returned to a quota is a whole number');",
    '',
  ],
  [
    'room-back-own',
    'no owner returns more than it took',
    "assert(own >= 0, 'an owner returns no more than it took');",
    '',
  ],
]);

const lengths = mutate('src/http/read-body.ts', [
  [
    'length-whole',
    'a length that is not a whole number is refused',
    'const bytes = parseWholeNumber(text);',
    'const bytes = parseWholeNumber(text) ?? 0;',
  ],
]);

const counts = mutate('src/wire/read-features.ts', [
  [
    'uses-exact',
    'uses of web search that no number holds are unbounded',
    'return isWholeNumber(usesMax) ? usesMax : null;',
    'return usesMax;',
  ],
  [
    'execution-free',
    'code execution is offered only beside tools with which it is free',
    "?? '') >= EXECUTION_FREE_FROM;",
    "?? '') !== '';",
  ],
  [
    'execution-listed',
    'a tool that a message brings makes no code execution free',
    '!jsonObjects(tools).some(includesExecution)',
    '!types.some((one) => includesExecution({ type: one }))',
  ],
]);

const usages = mutate('src/usage/count-message.ts', [
  [
    'refusal-content',
    'a refusal after output is billed',
    "this.#stopReason === 'refusal' && this.#isUnbilledCategory && !this.#contentSeen;",
    "this.#stopReason === 'refusal' && this.#isUnbilledCategory;",
  ],
  [
    'refusal-category',
    'a refusal in a category that providers bill is billed',
    "this.#stopReason === 'refusal' && this.#isUnbilledCategory &&",
    "this.#stopReason === 'refusal' &&",
  ],
  [
    'writes-lifetime',
    'cache writes without a lifetime are priced as the longest requested one',
    "if (lifetime === '1h') cacheWrite1h += surplus;\n  else cacheWrite5m += surplus;",
    'cacheWrite5m += surplus;',
  ],
]);

const signatures = mutate('src/providers/openai-responses/reasoning-signature.ts', [
  [
    'signature-parts',
    'parts of a signature have no negative length',
    'isWholeNumber(characters) ? characters : 0',
    "typeof characters === 'number' ? characters : 0",
  ],
]);

const costs = mutate('src/wire/scan-json.ts', [
  ['cost-new-keys', 'different keys are bounded', 'if (weight.newKeys > jsonNewKeysMax) return', 'if (false) return'],
  ['cost-key-length', 'a long key counts by its length', '1 + Math.floor(key.length / KEY_CHARACTERS_UNIT)', '1'],
  ['cost-indexes', 'an index counts each time', 'const isPlain = !isIndex(key) &&', 'const isPlain ='],
  ['cost-bare', 'characters outside of strings are bounded', 'if (end < text.length) throw', 'if (false) throw'],
  [
    'cost-escapes',
    'strings with escapes are bounded',
    'if (weight.escapedCharacters > jsonEscapedCharactersMax) throw',
    'if (false) throw',
  ],
  ['cost-doubled', 'a doubled key is found among many', 'frame.manyKeys?.add(key);', ''],
  ['cost-members', 'different members of a body are bounded', 'weight.newKeys > jsonNewKeysMax ?', 'false ?'],
  ['doubled-member', 'a doubled member of a body is found', 'if (members.has(key)) return DUPLICATE;', ''],
  [
    'doubled-around',
    'a doubled member of a body is found, whatever keys are inside',
    'latest === null || frame.isOutermost',
    'latest === null',
  ],
]);

const callArguments = mutate('src/fronts/chat-completions/convert-conversation.ts', [
  [
    'cost-arguments',
    'tool call arguments count toward the size of the body',
    "if (typeof text === 'string') weighJson(text, `${path}.arguments`, weight);",
    '',
  ],
]);

export const inputMutations = [
  ...costs,
  ...callArguments,
  ...numbers,
  ...rooms,
  ...lengths,
  ...counts,
  ...usages,
  ...signatures,
];
