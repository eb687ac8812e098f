// Texts of many kinds, made from a seed: what prompts are made of.

import { readText } from '../../sources.ts';
import { makeRandom } from '../../support/random.ts';

const sentences: Readonly<Record<string, readonly string[]>> = {
  english: [
    'The gateway holds the most that a request can cost, relays the answer, and bills what was used. ',
    "She didn't expect the committee to reconsider its decision so quickly, but they've done it. ",
    'Several unprecedented thunderstorms disrupted transatlantic flights on Wednesday afternoon. ',
  ],
  german: [
    'Das Gateway leitet die Antwort weiter und rechnet den Verbrauch ab, bevor das Ende gesendet wird. ',
    'Gestern fiel in München viel Schnee, zahlreiche Flüge wurden gestrichen. ',
  ],
  chinese: [
    '网关验证请求，预留其最高费用，将其发送给提供商，转发答案，并在发送答案结束之前计费。',
    '昨天北京下了一场大雪，许多航班被迫取消，旅客们在机场等待了很长时间。',
  ],
  japanese: [
    'ゲートウェイはリクエストを認証し、最大費用を確保してからプロバイダーに送信します。',
    '昨日は東京で大雪が降り、多くの便が欠航になりました。',
  ],
  korean: [
    '게이트웨이는 요청을 인증하고 최대 비용을 예약합니다. ',
    '어제 서울에는 눈이 많이 와서 항공편이 취소되었습니다. ',
  ],
  russian: [
    'Шлюз проверяет запрос, резервирует максимальную стоимость и отправляет его поставщику. ',
    'Вчера в Москве выпал сильный снег, многие рейсы были отменены. ',
  ],
  arabic: [
    'تتحقق البوابة من الطلب وتحجز أقصى تكلفة ممكنة ثم ترسله إلى المزود. ',
    'تساقطت الثلوج بغزارة أمس في المدينة. ',
  ],
  hindi: ['गेटवे अनुरोध को प्रमाणित करता है और अधिकतम लागत आरक्षित करता है। ', 'कल दिल्ली में बहुत बारिश हुई। '],
};

const emoji = ['😀', '🎉', '👍🏽', '🚀', '❤️', '🇩🇪', '👨‍👩‍👧', '✅'];
const spaces = ['    ', '\n', '\t', '        ', '\n\n', '\r\n', '\n  x ', ' ', ' {', '}'];

/** The same for the same seed; each has about `characters` characters. */
export function textsOfKinds(seed: number, characters: number): Map<string, string> {
  const random = makeRandom(seed);
  const pick = <One>(from: readonly One[]) => from[Math.floor(random() * from.length)] as One;
  const fill = (next: () => string) => {
    let text = '';
    while (text.length < characters) text += next();
    return text;
  };
  const bytes = () => Buffer.from(Array.from({ length: 300 }, () => Math.floor(random() * 256)));
  const number = () => Math.floor(random() ** 3 * 1e6);
  const row = () => ({ id: number(), name: pick(['ada', 'grace']), score: random(), tags: ['α', 'b'], note: null });
  const letter = () => String.fromCharCode(97 + Math.floor(random() * 26));
  const source = (path: string) => () => (readText(path) ?? '').slice(0, characters);
  return new Map([
    ...Object.entries(sentences).map(([kind, all]) => [kind, fill(() => pick(all))] as const),
    ['typescript', fill(source('src/gateway/gateway.ts'))],
    ['markdown', fill(source('docs/ledger.md'))],
    ['shell', fill(source('bin/with-bun'))],
    ['css', fill(source('console/styles.css'))],
    ['json', fill(() => `${JSON.stringify(row())},`)],
    ['digits', fill(() => String(Math.floor(random() * 10)))],
    ['csv of digits', fill(() => `${Math.floor(random() * 10)},`)],
    ['numbers', fill(() => `${number()} `)],
    ['base64', fill(() => bytes().toString('base64'))],
    ['hexadecimal', fill(() => bytes().toString('hex'))],
    ['emoji', fill(() => `${pick(emoji)}${pick(emoji)}${pick(['', ' ', '\n', ' ok '])}`)],
    ['white space', fill(() => pick(spaces))],
    ['random words', fill(() => `${Array.from({ length: 1 + Math.floor(random() * 12) }, letter).join('')} `)],
  ]);
}
