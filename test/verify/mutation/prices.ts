// Guards of prices: which version a message pays, what may be sold for what, and whose list is trusted.

import { mutate } from './mutation.ts';

const versions = [
  ...mutate('src/catalog/price-changes.ts', [
    [
      'price-at-its-time',
      'a version is in force from its time on',
      'inForce.next.fromMs <= nowMs) inForce',
      'inForce.next.fromMs < nowMs) inForce',
    ],
    [
      'price-costs-change',
      'a cost changes at its time',
      'for (const one of [price, ...routes.map(({ cost }) => cost)])',
      'for (const one of [price])',
    ],
  ]),
  ...mutate('src/catalog/build-catalog.ts', [
    ['price-snapshot', 'a snapshot is replaced at the time of a change', 'this.#replace(this.#current);', ''],
    [
      'price-after-swap',
      'a new snapshot has the versions of its time',
      'this.#current = catalogAt(catalog, this.#nowMs());',
      'this.#current = catalog;',
    ],
  ]),
  ...mutate('src/gateway/gateway.ts', [
    [
      'price-slow-body',
      'a slow body does not keep the prices of its beginning',
      'catalog = gateway.catalog(); // a slow body does not keep the prices of its beginning',
      '',
    ],
  ]),
  ...mutate('src/catalog/document.ts', [
    ['price-order', 'two versions do not have the same time', "from <= (changes[at - 1]?.from ?? '')", 'false'],
  ]),
];

const lists = [
  ...mutate('src/catalog/plan-price-update.ts', [
    ['list-stated', 'a stated price never changes', 'price_source !== undefined && serves', 'serves'],
    ['list-use', 'a price for another use is not taken', 'serves === listed.serves && ', ''],
    ['list-older-row', 'an older row is not taken', ' && price_source.catalogue <= listed.asOf', ''],
    [
      'list-confirmed',
      'only confirmed models change',
      ' || names?.includes(entry.name) === false',
      ' || (names as unknown) === false',
    ],
  ]),
  ...mutate('src/admin-api/price-update.ts', [
    [
      'list-older',
      'an older list does not replace the one in use',
      'if (list.asOf < inUse.asOf) throw',
      'if (false) throw',
    ],
    ['list-future', 'a list from the future does not keep out later ones', '> clock.nowMs() + DAY_MS)', '> Infinity)'],
  ]),
  ...mutate('src/commands/catalogue.ts', [
    [
      'list-signature',
      'a list is signed by the trusted key',
      "!(await crypto.subtle.verify('Ed25519', key, signature, list))",
      'false',
    ],
    ['list-private', 'a private address is not called', 'if (address !== null)\n', 'if (false)\n'],
    ['list-redirect', 'a redirect is not followed', "redirect: 'error'", "redirect: 'follow'"],
    ['list-size', 'a list has a largest size', 'if (length > bytesMax) throw', 'if (false) throw'],
  ]),
];

export const priceMutations = [...versions, ...lists];
