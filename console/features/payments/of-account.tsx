// The payments of one account.

import { BillingPage } from '../billing/page.tsx';
import { PaymentTable } from './table.tsx';

export function AccountPayments() {
  return <BillingPage name="payments">{({ id }) => <PaymentTable accountId={id} />}</BillingPage>;
}
