// To be.

export function UsageList() {
  return <p>UsageList</p>;
}
