// The columns with JSON that `check` reads, each row on its own. Holds have a reader that never fails (stored-hold.ts).

import { flag, list, nullable, object, optional, parseJson, whole } from './document-shape.ts';
import { documents } from './stored-documents.ts';
import type { StoredColumn } from './unreadable-rows.ts';
import { HAS_UNITS } from './usage-details.ts';

export const storedColumns: readonly StoredColumn[] = Object.values(documents).filter(({ table }) => table !== 'holds');

interface SummedHold {
  account: number;
  key: number;
  amount: number;
  fromPlan?: number;
  above?: readonly number[];
  payer?: number;
  person?: number | null;
  left?: boolean;
  owner: { epoch: number };
}

const summedHold = object<SummedHold>({
  account: whole,
  key: whole,
  amount: whole,
  fromPlan: optional(whole),
  above: optional(list(whole)),
  payer: optional(whole),
  person: optional(nullable(whole)),
  left: optional(flag),
  owner: object<SummedHold['owner']>({ epoch: whole }),
});

/** Those whose members the sums over the ledger take (ledger-sums.ts). */
export const summedColumns: readonly StoredColumn[] = [
  { ...documents.hold, read: (text) => summedHold.read(parseJson(text), '') },
  documents.groupRates,
  documents.plan,
  documents.rates,
  { ...documents.usageDetails, where: HAS_UNITS },
];
