// To be.

export function AccountShow() {
  return <p>AccountShow</p>;
}
