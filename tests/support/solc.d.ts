/** The Solidity compiler; the package has no types. */
declare module 'solc' {
  /** @param input standard JSON input @returns standard JSON output */
  function compile(input: string): string;
  export default { compile };
}
