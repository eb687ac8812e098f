// To be.

export function OwnBalanceShow() {
  return <p>OwnBalanceShow</p>;
}

export function BalanceShow() {
  return <p>BalanceShow</p>;
}
