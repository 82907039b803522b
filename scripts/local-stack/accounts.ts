/**
 * Accounts that every development chain funds, from a public mnemonic: worthless elsewhere. Taken in fixed roles, so
 * that a lost data folder never leaves a chain whose gateway nobody can act for.
 */
export const DEPLOYER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const GATEWAY = {
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
} as const;
/** Number of the one operator that a development deployment admits. */
export const OPERATOR = 1;
export const OPERATOR_ADMIN = {
  address: "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  privateKey: "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
} as const;
