// To be.

export function ProviderList() {
  return <p>ProviderList</p>;
}
