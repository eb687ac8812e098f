// Takes the stored catalogue as the current one, one reading after the other: of two at once, the older might be taken last.

import type { CatalogStore, CatalogueHolder } from '../catalog/catalog.ts';
import type { NodeLedger } from '../ledger/ledger.ts';

export class CatalogueReader {
  readonly #store: Pick<CatalogStore, 'loadCatalog'>;
  readonly #holder: CatalogueHolder;
  readonly #ledger: Pick<NodeLedger, 'forgetRefusals'>;
  #last: Promise<void> = Promise.resolve();

  constructor(
    store: Pick<CatalogStore, 'loadCatalog'>,
    holder: CatalogueHolder,
    ledger: Pick<NodeLedger, 'forgetRefusals'>,
  ) {
    this.#store = store;
    this.#holder = holder;
    this.#ledger = ledger;
  }

  /** What was stored before it is asked is current when it resolves. Throws store_unavailable, DocumentBroken, SealBroken: then nothing is taken. */
  read(): Promise<void> {
    const mine = this.#last.then(() => this.#readOnce());
    this.#last = mine.catch(() => {}); // whoever asked is told
    return mine;
  }

  async #readOnce(): Promise<void> {
    this.#holder.swap(await this.#store.loadCatalog());
    this.#ledger.forgetRefusals();
  }
}
