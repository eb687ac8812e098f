// The payments of all accounts.

import { PageHead } from '../../parts/page.tsx';
import { PaymentTable } from './table.tsx';

export function PaymentList() {
  return (
    <>
      <PageHead title="Payments" text="Recharges and other payments of all accounts, newest first." />
      <PaymentTable accountId={null} />
    </>
  );
}
