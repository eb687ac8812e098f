// The door of provider bills: their import by API and CSV, and their comparison with our records.

export { type BillFeature, type BillKind, billFeatures, billKinds } from './bill-line.ts';
export {
  type BillPage,
  type BillPart,
  type BillParts,
  type BillSource,
  type BillStore,
  billParts,
  billSourceContext,
  type ComparedDay,
  type ComparedFeature,
  type ComparedModel,
  type ListedBill,
  type StoredBill,
} from './bill-source.ts';
export { type BillFetching, daysToFetch, fetchBill, type ImportParts, importBill } from './import-bill.ts';
export { readCsvBill } from './read-csv.ts';
