// To be.

export function AccountList() {
  return <p>AccountList</p>;
}
