/** The bytes of the file, from `loader: { '.wasm': 'binary' }` of esbuild. */
declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

// The used part of the standard interface, which TypeScript declares only in its library of browser types.
declare namespace WebAssembly {
  type Imports = Record<string, Record<string, unknown>>;
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Record<string, unknown>;
  }
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
}
