// Generated from the compiled contracts by scripts/build/compile.ts. Do not edit.

export const inferenceEscrowAbi = [
 {
  "inputs": [
   {
    "internalType": "contract IERC20",
    "name": "token_",
    "type": "address"
   },
   {
    "internalType": "contract IModelCatalog",
    "name": "catalog",
    "type": "address"
   },
   {
    "internalType": "contract IWorkerRegistry",
    "name": "registry",
    "type": "address"
   },
   {
    "internalType": "contract IArbitrationPanel",
    "name": "panel",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "guardian_",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "treasury_",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "feeBps_",
    "type": "uint16"
   },
   {
    "internalType": "uint40",
    "name": "compensationCap_",
    "type": "uint40"
   },
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "completion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "inclusion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "finalization",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dispute",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "arbitration",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "equivocation",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "notice",
      "type": "uint32"
     }
    ],
    "internalType": "struct Windows",
    "name": "w",
    "type": "tuple"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "credits",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "ceiling",
    "type": "uint256"
   }
  ],
  "name": "Admin_CompensationAboveCeiling",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "feeBps",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "Admin_FeeAboveCap",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "value",
    "type": "address"
   }
  ],
  "name": "Admin_InvalidAddress",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "window",
    "type": "bytes32"
   },
   {
    "internalType": "uint256",
    "name": "seconds_",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "bound",
    "type": "uint256"
   }
  ],
  "name": "Admin_InvalidWindow",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Admin_NotGuardian",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "operatorShare",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "Admin_ShareAboveCap",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Batch_Nested",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "left",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Batch_OutOfGas",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "left",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "BoundedCall_OutOfGas",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Dispute_AlreadyJoined",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Dispute_AlreadyOpened",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint32",
    "name": "bond",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "maxBond",
    "type": "uint32"
   }
  ],
  "name": "Dispute_BondAboveLimit",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Dispute_InvalidRuling",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Dispute_NoDebt",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Dispute_NoEquivocation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Dispute_NotAParty",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "recovered",
    "type": "address"
   }
  ],
  "name": "Dispute_NotSigned",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Dispute_NotThePanel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "owed",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "allowance",
    "type": "uint256"
   }
  ],
  "name": "Dispute_NothingPaid",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "expiresAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "latest",
    "type": "uint256"
   }
  ],
  "name": "Dispute_RequestTooLong",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Dispute_SameHash",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Dispute_TooMany",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Job_AlreadyExists",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint8",
    "name": "attempt",
    "type": "uint8"
   },
   {
    "internalType": "uint8",
    "name": "current",
    "type": "uint8"
   }
  ],
  "name": "Job_AttemptTaken",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Job_AuthorizationRequired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "expiresAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "latest",
    "type": "uint256"
   }
  ],
  "name": "Job_AuthorizationTooLong",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Job_InvalidId",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "validUntil",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_LockExpired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Job_MayNotLock",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Job_ModelNotActive",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Job_NotAssigned",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "recovered",
    "type": "address"
   }
  ],
  "name": "Job_NotAuthorized",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Job_NotItsOperator",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Job_NotTheWorker",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint8",
    "name": "chosen",
    "type": "uint8"
   },
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "Job_OperatorNotChosen",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "maxCredits",
    "type": "uint32"
   }
  ],
  "name": "Job_PriceExceedsLimit",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "notBefore",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_TooEarly",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "limit",
    "type": "uint32"
   }
  ],
  "name": "Job_TooLarge",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_TooLate",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Job_WorkerNotEligible",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint8",
    "name": "status",
    "type": "uint8"
   }
  ],
  "name": "Job_WrongState",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "credits",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "minimum",
    "type": "uint256"
   }
  ],
  "name": "Ledger_DepositTooSmall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "received",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "expected",
    "type": "uint256"
   }
  ],
  "name": "Ledger_InexactTransfer",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "free",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Ledger_InsufficientCredits",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "Ledger_InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "Ledger_NothingToClaim",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Ledger_Paused",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "Ledger_PayoutRefused",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Ledger_UnknownAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Ledger_ZeroCredits",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "spentToday",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "dailyLimit",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Limits_DailyLimitReached",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Limits_Frozen",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "signers",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "consents",
    "type": "uint256"
   }
  ],
  "name": "Operator_ConsentsMissing",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint16",
    "name": "day",
    "type": "uint16"
   },
   {
    "internalType": "uint256",
    "name": "vestsAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Operator_EarningsNotVested",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "recovered",
    "type": "address"
   }
  ],
  "name": "Operator_NoConsent",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Operator_NotASigner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Operator_NotAdmin",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint16",
    "name": "firstDay",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "lastDay",
    "type": "uint16"
   }
  ],
  "name": "Operator_NothingEarned",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "leavesAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Operator_ReserveStays",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "reserve",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Operator_ReserveTooSmall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "Operator_SignerTaken",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Operator_TooMany",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "Operator_Unknown",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ReentrancyGuardReentrantCall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "completedAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "lockedAt",
    "type": "uint256"
   }
  ],
  "name": "Settlement_CompletedOutOfTime",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Settlement_OtherCompletion",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Settlement_WrongWallet",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "AuthorizationKeySet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "indexed": true,
    "internalType": "bytes4",
    "name": "selector",
    "type": "bytes4"
   },
   {
    "indexed": false,
    "internalType": "bytes",
    "name": "reason",
    "type": "bytes"
   }
  ],
  "name": "BatchItemFailed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "paid",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "owed",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "capped",
    "type": "bool"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "Compensated",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   }
  ],
  "name": "CompensationCapSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "Deposited",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "receivedHash",
    "type": "bytes32"
   }
  ],
  "name": "DisputeJoined",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "mostOpen",
    "type": "uint8"
   }
  ],
  "name": "DisputeKeySet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "enum JobStatus",
    "name": "status",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "returned",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "DisputeResolved",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "key",
    "type": "address"
   }
  ],
  "name": "DisputeSigned",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "day",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "disputed",
    "type": "uint256"
   }
  ],
  "name": "EarningsChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "firstDay",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "lastDay",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "EarningsWithdrawn",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "feeBps",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "operatorShare",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "FeeScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "guardian",
    "type": "address"
   }
  ],
  "name": "GuardianSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "attempt",
    "type": "uint8"
   }
  ],
  "name": "JobAcknowledged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "requestHash",
    "type": "bytes32"
   }
  ],
  "name": "JobAuthorized",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "receivedHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "workerHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "byOperator",
    "type": "bool"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "bond",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "arbiterSet",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "ruleFrom",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "ruleBefore",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobDisputed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "enum FailureReason",
    "name": "reason",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobFailed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "tier",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "JobSlot",
    "name": "job",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "AccountSlot",
    "name": "account",
    "type": "uint256"
   }
  ],
  "name": "JobLocked",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "proofHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "Usage",
    "name": "usage",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "finalizeFrom",
    "type": "uint40"
   }
  ],
  "name": "JobProven",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobRefunded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "proofHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "Usage",
    "name": "usage",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "vs",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "AccountSlot",
    "name": "account",
    "type": "uint256"
   }
  ],
  "name": "JobSettled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "limited",
    "type": "bool"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "dailyLimit",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "frozen",
    "type": "bool"
   }
  ],
  "name": "LimitsSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "admin",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "OperatorAdminSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "admin",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "OperatorAdmitted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "OperatorCharged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "OperatorChosen",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "stopped",
    "type": "bool"
   }
  ],
  "name": "OperatorStopped",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "byGuardian",
    "type": "bool"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "byGovernance",
    "type": "bool"
   }
  ],
  "name": "PausedSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "PayoutClaimed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "PayoutDeferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "reserve",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "held",
    "type": "uint40"
   }
  ],
  "name": "ReserveChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "leavesAt",
    "type": "uint40"
   }
  ],
  "name": "ReserveLeaving",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "SignerAdded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "SignerRemoved",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "treasury",
    "type": "address"
   }
  ],
  "name": "TreasurySet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "Withdrawn",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "firstHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "secondHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "enum JobStatus",
    "name": "status",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "disputeBefore",
    "type": "uint40"
   }
  ],
  "name": "WorkerEquivocated",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "AUTHORIZATION_SPAN",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "CATALOG",
  "outputs": [
   {
    "internalType": "contract IModelCatalog",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "COMPENSATION_CEILING",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "DISPUTE_BOND",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "DISPUTE_LIMIT",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "FEE_CAP_BPS",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "ID_SPAN",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "ITEM_GAS",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "JOB_LIMIT",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "LONGEST_RISK",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "MINIMUM_DEPOSIT",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "MOST_OPERATORS",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "OPERATOR_SHARE_CAP",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "PANEL",
  "outputs": [
   {
    "internalType": "contract IArbitrationPanel",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "REGISTRY",
  "outputs": [
   {
    "internalType": "contract IWorkerRegistry",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "UNITS_PER_CREDIT",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "accountOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "id",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "free",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "escrowed",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "sequence",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dailyLimit",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "spentToday",
      "type": "uint32"
     },
     {
      "internalType": "uint16",
      "name": "spentDay",
      "type": "uint16"
     },
     {
      "internalType": "uint8",
      "name": "flags",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "openDisputes",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "operator",
      "type": "uint8"
     }
    ],
    "internalType": "struct Account",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "address",
      "name": "worker",
      "type": "address"
     },
     {
      "internalType": "uint8",
      "name": "attempt",
      "type": "uint8"
     },
     {
      "internalType": "uint40",
      "name": "acknowledgeBy",
      "type": "uint40"
     }
    ],
    "internalType": "struct Assignment",
    "name": "assignment",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byGateway",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   }
  ],
  "name": "acknowledge",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "admin",
    "type": "address"
   }
  ],
  "name": "admitOperator",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   }
  ],
  "name": "announceReserveWithdrawal",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "authorizationKeyOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "chooseOperator",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "claim",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "claimTo",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "claimableOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "collectDebt",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "compensationCap",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "compensationOf",
  "outputs": [
   {
    "internalType": "uint64",
    "name": "granted",
    "type": "uint64"
   },
   {
    "internalType": "uint64",
    "name": "paid",
    "type": "uint64"
   },
   {
    "internalType": "bool",
    "name": "toWorker",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "internalType": "uint32",
    "name": "countedTokens",
    "type": "uint32"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   },
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "complete",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "deposit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "depositWithPermit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "receivedHash",
    "type": "bytes32"
   },
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   },
   {
    "internalType": "uint32",
    "name": "maxBond",
    "type": "uint32"
   },
   {
    "internalType": "uint40",
    "name": "expiresAt",
    "type": "uint40"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byKey",
    "type": "tuple"
   }
  ],
  "name": "disputeByKey",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "disputeKeyOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "internalType": "uint8",
    "name": "mostOpen",
    "type": "uint8"
   },
   {
    "internalType": "uint8",
    "name": "open",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "disputeOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint40",
      "name": "openedAt",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "ruleFrom",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "arbiterSet",
      "type": "uint32"
     },
     {
      "internalType": "uint8",
      "name": "bond",
      "type": "uint8"
     },
     {
      "internalType": "bytes7",
      "name": "workerHash",
      "type": "bytes7"
     },
     {
      "internalType": "bool",
      "name": "byOperator",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "byKey",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "fromProven",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "joined",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "conceded",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "afterEquivocation",
      "type": "bool"
     },
     {
      "internalType": "bool",
      "name": "resolved",
      "type": "bool"
     },
     {
      "internalType": "enum Ruling",
      "name": "ruling",
      "type": "uint8"
     }
    ],
    "internalType": "struct Dispute",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "domainSeparator",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint16",
    "name": "day",
    "type": "uint16"
   }
  ],
  "name": "earningsOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes[]",
    "name": "items",
    "type": "bytes[]"
   }
  ],
  "name": "execute",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "expire",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "enum FailureReason",
    "name": "reason",
    "type": "uint8"
   }
  ],
  "name": "fail",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "feeBps",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   }
  ],
  "name": "finalize",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   }
  ],
  "name": "fundReserve",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "guardian",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "jobOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "account",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "worker",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "credits",
      "type": "uint32"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "model",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "feeBps",
      "type": "uint16"
     },
     {
      "internalType": "uint40",
      "name": "lockedAt",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "deadline",
      "type": "uint32"
     },
     {
      "internalType": "uint8",
      "name": "operator",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "attempt",
      "type": "uint8"
     },
     {
      "internalType": "enum JobStatus",
      "name": "status",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "operatorShare",
      "type": "uint8"
     }
    ],
    "internalType": "struct Job",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "bytes32",
    "name": "receivedHash",
    "type": "bytes32"
   }
  ],
  "name": "joinDispute",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "liabilities",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "credits",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint32",
    "name": "maxTokens",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "maxCredits",
    "type": "uint32"
   },
   {
    "internalType": "uint40",
    "name": "validUntil",
    "type": "uint40"
   }
  ],
  "name": "lock",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "address",
      "name": "wallet",
      "type": "address"
     },
     {
      "internalType": "uint8",
      "name": "operator",
      "type": "uint8"
     },
     {
      "internalType": "uint16",
      "name": "model",
      "type": "uint16"
     },
     {
      "internalType": "uint32",
      "name": "maxTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "maxCredits",
      "type": "uint32"
     },
     {
      "internalType": "bytes32",
      "name": "requestHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint40",
      "name": "expiresAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Authorization",
    "name": "authorization",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byKey",
    "type": "tuple"
   }
  ],
  "name": "lockAuthorized",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "receivedHash",
    "type": "bytes32"
   },
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   }
  ],
  "name": "openDispute",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "operatorCount",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   }
  ],
  "name": "operatorOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "address",
      "name": "admin",
      "type": "address"
     },
     {
      "internalType": "uint40",
      "name": "reserve",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "held",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "leaving",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "leavesAt",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "sequence",
      "type": "uint32"
     }
    ],
    "internalType": "struct Operator",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "operatorShare",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "paused",
  "outputs": [
   {
    "internalType": "bool",
    "name": "byGuardian",
    "type": "bool"
   },
   {
    "internalType": "bool",
    "name": "byGovernance",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "proofOf",
  "outputs": [
   {
    "internalType": "bytes28",
    "name": "digest",
    "type": "bytes28"
   },
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "first",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "firstByWorker",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "second",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "secondByWorker",
    "type": "tuple"
   }
  ],
  "name": "proveEquivocation",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "refund",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "address[]",
    "name": "added",
    "type": "address[]"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature[]",
    "name": "consents",
    "type": "tuple[]"
   },
   {
    "internalType": "address[]",
    "name": "removed",
    "type": "address[]"
   }
  ],
  "name": "rotateSigners",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   }
  ],
  "name": "rule",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "feeBps_",
    "type": "uint16"
   },
   {
    "internalType": "uint8",
    "name": "operatorShare_",
    "type": "uint8"
   }
  ],
  "name": "scheduleFee",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   }
  ],
  "name": "setAuthorizationKey",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   }
  ],
  "name": "setCompensationCap",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   },
   {
    "internalType": "uint8",
    "name": "mostOpen",
    "type": "uint8"
   }
  ],
  "name": "setDisputeKey",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "guardian_",
    "type": "address"
   }
  ],
  "name": "setGuardian",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bool",
    "name": "limited",
    "type": "bool"
   },
   {
    "internalType": "uint32",
    "name": "dailyLimit",
    "type": "uint32"
   },
   {
    "internalType": "bool",
    "name": "frozen",
    "type": "bool"
   }
  ],
  "name": "setLimits",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "admin",
    "type": "address"
   }
  ],
  "name": "setOperatorAdmin",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bool",
    "name": "paused_",
    "type": "bool"
   }
  ],
  "name": "setPaused",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "treasury_",
    "type": "address"
   }
  ],
  "name": "setTreasury",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "key",
    "type": "address"
   }
  ],
  "name": "signerOf",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint40",
    "name": "removedAt",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "bool",
    "name": "stopped",
    "type": "bool"
   }
  ],
  "name": "stopOperator",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "stoppedOperators",
  "outputs": [
   {
    "internalType": "uint160",
    "name": "",
    "type": "uint160"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "reasoningTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "textBytes",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   }
  ],
  "name": "submitProof",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "token",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "treasury",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   }
  ],
  "name": "walletOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "windows",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "completion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "inclusion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "finalization",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dispute",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "arbitration",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "equivocation",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "notice",
      "type": "uint32"
     }
    ],
    "internalType": "struct Windows",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdraw",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "uint16",
    "name": "firstDay",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "lastDay",
    "type": "uint16"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdrawEarnings",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "operator",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdrawReserve",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const modelCatalogAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "uint40",
    "name": "priceNotice_",
    "type": "uint40"
   },
   {
    "internalType": "uint40",
    "name": "retirementNotice_",
    "type": "uint40"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Catalog_AlreadyRetired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "id",
    "type": "string"
   },
   {
    "internalType": "uint32",
    "name": "contextWindow",
    "type": "uint32"
   }
  ],
  "name": "Catalog_InvalidListing",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "notice",
    "type": "bytes32"
   },
   {
    "internalType": "uint256",
    "name": "seconds_",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "minimum",
    "type": "uint256"
   }
  ],
  "name": "Catalog_InvalidNotice",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   }
  ],
  "name": "Catalog_InvalidPrice",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "id",
    "type": "string"
   }
  ],
  "name": "Catalog_ModelExists",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "requested",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "earliest",
    "type": "uint256"
   }
  ],
  "name": "Catalog_NoticeTooShort",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "contextWindow",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "limit",
    "type": "uint32"
   }
  ],
  "name": "Catalog_PriceAboveLimit",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Catalog_UnknownModel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "components": [
     {
      "internalType": "string",
      "name": "id",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "parameters",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "ownedBy",
      "type": "string"
     },
     {
      "internalType": "enum Tier",
      "name": "tier",
      "type": "uint8"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint32",
      "name": "contextWindow",
      "type": "uint32"
     }
    ],
    "indexed": false,
    "internalType": "struct ModelListing",
    "name": "listing",
    "type": "tuple"
   }
  ],
  "name": "ModelListed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "PricesScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "retiresAt",
    "type": "uint40"
   }
  ],
  "name": "RetirementScheduled",
  "type": "event"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "string",
      "name": "id",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "parameters",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "ownedBy",
      "type": "string"
     },
     {
      "internalType": "enum Tier",
      "name": "tier",
      "type": "uint8"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint32",
      "name": "contextWindow",
      "type": "uint32"
     }
    ],
    "internalType": "struct ModelListing",
    "name": "listing",
    "type": "tuple"
   }
  ],
  "name": "list",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "modelAt",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint16",
      "name": "number",
      "type": "uint16"
     },
     {
      "components": [
       {
        "internalType": "string",
        "name": "id",
        "type": "string"
       },
       {
        "internalType": "string",
        "name": "parameters",
        "type": "string"
       },
       {
        "internalType": "string",
        "name": "ownedBy",
        "type": "string"
       },
       {
        "internalType": "enum Tier",
        "name": "tier",
        "type": "uint8"
       },
       {
        "internalType": "uint16",
        "name": "creditsPerRequest",
        "type": "uint16"
       },
       {
        "internalType": "uint16",
        "name": "creditsPer1kTokens",
        "type": "uint16"
       },
       {
        "internalType": "uint32",
        "name": "contextWindow",
        "type": "uint32"
       }
      ],
      "internalType": "struct ModelListing",
      "name": "listing",
      "type": "tuple"
     },
     {
      "internalType": "uint40",
      "name": "createdAt",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "retiresAt",
      "type": "uint40"
     },
     {
      "internalType": "uint16",
      "name": "nextCreditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "nextCreditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint40",
      "name": "pricesChangeAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct ModelView",
    "name": "view_",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "modelCount",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "priceNotice",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "retirementNotice",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   }
  ],
  "name": "schedulePrices",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "uint40",
    "name": "retiresAt",
    "type": "uint40"
   }
  ],
  "name": "scheduleRetirement",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "termsOf",
  "outputs": [
   {
    "internalType": "LockTerms",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const workerRegistryAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "contract IERC20",
    "name": "stakeToken",
    "type": "address"
   },
   {
    "internalType": "uint56",
    "name": "minimumStake_",
    "type": "uint56"
   },
   {
    "internalType": "uint56",
    "name": "slashAmount_",
    "type": "uint56"
   },
   {
    "internalType": "uint32",
    "name": "creditsPer1kSvc",
    "type": "uint32"
   },
   {
    "internalType": "uint40",
    "name": "unbondingPeriod_",
    "type": "uint40"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Registry_AlreadySlashed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "Registry_InvalidEndpoint",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "recovered",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidEnrollment",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidEscrow",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Registry_InvalidModel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidPayout",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "minimumStake",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "slashAmount",
    "type": "uint256"
   }
  ],
  "name": "Registry_InvalidStakeTerms",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Registry_InvalidSvcWorth",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_NoStake",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Registry_NotOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Registry_NotTheEscrow",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_NotUnbonding",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "unbondsAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Registry_StillBonded",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "notBefore",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Registry_TermsTooSoon",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_Unbonding",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_UnknownWorker",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_WorkerExists",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Registry_ZeroStake",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "EndpointSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "EscrowSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "hosted",
    "type": "bool"
   }
  ],
  "name": "HostingSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "PayoutSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "added",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   }
  ],
  "name": "StakeAdded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "minimumStake",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "slashAmount",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "StakeTermsScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "StakeWithdrawn",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "creditsPer1kSvc",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "SvcWorthScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "UnbondingCancelled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "unbondsAt",
    "type": "uint40"
   }
  ],
  "name": "UnbondingStarted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "payout",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "WorkerRegistered",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "amount",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "equivocation",
    "type": "bool"
   }
  ],
  "name": "WorkerSlashed",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "STAKE_TOKEN",
  "outputs": [
   {
    "internalType": "contract IERC20",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "STAKE_UNIT",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   }
  ],
  "name": "addStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "cancelUnbonding",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "escrow",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "minimumStake",
  "outputs": [
   {
    "internalType": "uint56",
    "name": "",
    "type": "uint56"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "nextStakeTerms",
  "outputs": [
   {
    "internalType": "uint56",
    "name": "minimum",
    "type": "uint56"
   },
   {
    "internalType": "uint56",
    "name": "slashed",
    "type": "uint56"
   },
   {
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "nextSvcWorth",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "creditsPer1kSvc",
    "type": "uint32"
   },
   {
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "payeeOf",
  "outputs": [
   {
    "internalType": "Payee",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   },
   {
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   },
   {
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "enrollment",
    "type": "tuple"
   }
  ],
  "name": "register",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint56",
    "name": "minimumStake_",
    "type": "uint56"
   },
   {
    "internalType": "uint56",
    "name": "slashAmount_",
    "type": "uint56"
   }
  ],
  "name": "scheduleStakeTerms",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "creditsPer1kSvc",
    "type": "uint32"
   }
  ],
  "name": "scheduleSvcWorth",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "setEndpoint",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow_",
    "type": "address"
   }
  ],
  "name": "setEscrow",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "internalType": "bool",
    "name": "hosted",
    "type": "bool"
   }
  ],
  "name": "setHosting",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "setPayout",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "name": "signerOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "bool",
    "name": "equivocation",
    "type": "bool"
   }
  ],
  "name": "slash",
  "outputs": [
   {
    "internalType": "bool",
    "name": "full",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "slashAmount",
  "outputs": [
   {
    "internalType": "uint56",
    "name": "",
    "type": "uint56"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "slashOf",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "internalType": "bool",
    "name": "full",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "startUnbonding",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "svcWorth",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "unbondingPeriod",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdrawStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "name": "workerAt",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "id",
      "type": "uint32"
     },
     {
      "internalType": "address",
      "name": "signer",
      "type": "address"
     },
     {
      "internalType": "address",
      "name": "owner",
      "type": "address"
     },
     {
      "internalType": "address",
      "name": "payout",
      "type": "address"
     },
     {
      "internalType": "uint56",
      "name": "stake",
      "type": "uint56"
     },
     {
      "internalType": "uint40",
      "name": "unbondsAt",
      "type": "uint40"
     },
     {
      "internalType": "bool",
      "name": "active",
      "type": "bool"
     },
     {
      "internalType": "string",
      "name": "endpoint",
      "type": "string"
     },
     {
      "internalType": "uint16[]",
      "name": "models",
      "type": "uint16[]"
     }
    ],
    "internalType": "struct WorkerView",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "workerCount",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 }
] as const;

export const protocolTreasuryAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "contract IERC20",
    "name": "stablecoin",
    "type": "address"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "Treasury_InvalidEscrow",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Treasury_NotTheEscrow",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "CompensationPaid",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "EscrowSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "token",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "TreasuryPaid",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "STABLECOIN",
  "outputs": [
   {
    "internalType": "contract IERC20",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "claimTo",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "compensate",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "escrow",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "pay",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow_",
    "type": "address"
   }
  ],
  "name": "setEscrow",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const arbitrationPanelAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "address[]",
    "name": "arbiters",
    "type": "address[]"
   },
   {
    "internalType": "uint8",
    "name": "quorum",
    "type": "uint8"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "arbiter",
    "type": "address"
   }
  ],
  "name": "Panel_AlreadyVoted",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "arbiter",
    "type": "address"
   }
  ],
  "name": "Panel_InvalidArbiter",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "Panel_InvalidEscrow",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "arbiters",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "quorum",
    "type": "uint256"
   }
  ],
  "name": "Panel_InvalidQuorum",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Panel_InvalidRuling",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Panel_NotAnArbiter",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Panel_NotOpen",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "ruleFrom",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Panel_TooEarly",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "set",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "address[]",
    "name": "arbiters",
    "type": "address[]"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "quorum",
    "type": "uint8"
   }
  ],
  "name": "ArbitersSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "EscrowSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "arbiter",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "votes",
    "type": "uint8"
   }
  ],
  "name": "Voted",
  "type": "event"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "set",
    "type": "uint32"
   }
  ],
  "name": "arbitersOf",
  "outputs": [
   {
    "internalType": "address[]",
    "name": "arbiters",
    "type": "address[]"
   },
   {
    "internalType": "uint8",
    "name": "quorum",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "currentSet",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "escrow",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "arbiters",
    "type": "address[]"
   },
   {
    "internalType": "uint8",
    "name": "quorum",
    "type": "uint8"
   }
  ],
  "name": "setArbiters",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow_",
    "type": "address"
   }
  ],
  "name": "setEscrow",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   }
  ],
  "name": "vote",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16[]",
    "name": "jobIds",
    "type": "bytes16[]"
   },
   {
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   }
  ],
  "name": "voteMany",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "enum Ruling",
    "name": "ruling",
    "type": "uint8"
   }
  ],
  "name": "votesFor",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 }
] as const;

export const protocolGovernorAbi = [
 {
  "inputs": [
   {
    "internalType": "contract IVotes",
    "name": "token",
    "type": "address"
   },
   {
    "internalType": "contract TimelockController",
    "name": "timelock",
    "type": "address"
   },
   {
    "internalType": "uint48",
    "name": "delay",
    "type": "uint48"
   },
   {
    "internalType": "uint32",
    "name": "period",
    "type": "uint32"
   },
   {
    "internalType": "uint256",
    "name": "threshold",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "quorumPercent",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "CheckpointUnorderedInsertion",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ERC6372InconsistentClock",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "FailedCall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "voter",
    "type": "address"
   }
  ],
  "name": "GovernorAlreadyCastVote",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "GovernorAlreadyQueuedProposal",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "GovernorDisabledDeposit",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "proposer",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "votes",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "threshold",
    "type": "uint256"
   }
  ],
  "name": "GovernorInsufficientProposerVotes",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "targets",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "calldatas",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "values",
    "type": "uint256"
   }
  ],
  "name": "GovernorInvalidProposalLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "quorumNumerator",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "quorumDenominator",
    "type": "uint256"
   }
  ],
  "name": "GovernorInvalidQuorumFraction",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "voter",
    "type": "address"
   }
  ],
  "name": "GovernorInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "GovernorInvalidVoteParams",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "GovernorInvalidVoteType",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "votingPeriod",
    "type": "uint256"
   }
  ],
  "name": "GovernorInvalidVotingPeriod",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "GovernorNonexistentProposal",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "GovernorOnlyExecutor",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "GovernorProposalQueueingFailed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "GovernorProposalQueueingNotRequired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "proposer",
    "type": "address"
   }
  ],
  "name": "GovernorRestrictedProposer",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "GovernorUnableToCancel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "enum IGovernor.ProposalState",
    "name": "current",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "expectedStates",
    "type": "bytes32"
   }
  ],
  "name": "GovernorUnexpectedProposalState",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "currentNonce",
    "type": "uint256"
   }
  ],
  "name": "InvalidAccountNonce",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "ProposalCanceled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "proposer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "indexed": false,
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "indexed": false,
    "internalType": "string[]",
    "name": "signatures",
    "type": "string[]"
   },
   {
    "indexed": false,
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "voteStart",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "voteEnd",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "description",
    "type": "string"
   }
  ],
  "name": "ProposalCreated",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "ProposalExecuted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "etaSeconds",
    "type": "uint256"
   }
  ],
  "name": "ProposalQueued",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "oldProposalThreshold",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newProposalThreshold",
    "type": "uint256"
   }
  ],
  "name": "ProposalThresholdSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "oldQuorumNumerator",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newQuorumNumerator",
    "type": "uint256"
   }
  ],
  "name": "QuorumNumeratorUpdated",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "address",
    "name": "oldTimelock",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "newTimelock",
    "type": "address"
   }
  ],
  "name": "TimelockChange",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "voter",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "weight",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "reason",
    "type": "string"
   }
  ],
  "name": "VoteCast",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "voter",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "weight",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "reason",
    "type": "string"
   },
   {
    "indexed": false,
    "internalType": "bytes",
    "name": "params",
    "type": "bytes"
   }
  ],
  "name": "VoteCastWithParams",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "oldVotingDelay",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newVotingDelay",
    "type": "uint256"
   }
  ],
  "name": "VotingDelaySet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "oldVotingPeriod",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newVotingPeriod",
    "type": "uint256"
   }
  ],
  "name": "VotingPeriodSet",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "BALLOT_TYPEHASH",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "CLOCK_MODE",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "COUNTING_MODE",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "EXTENDED_BALLOT_TYPEHASH",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "descriptionHash",
    "type": "bytes32"
   }
  ],
  "name": "cancel",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   }
  ],
  "name": "castVote",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "voter",
    "type": "address"
   },
   {
    "internalType": "bytes",
    "name": "signature",
    "type": "bytes"
   }
  ],
  "name": "castVoteBySig",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "internalType": "string",
    "name": "reason",
    "type": "string"
   }
  ],
  "name": "castVoteWithReason",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "internalType": "string",
    "name": "reason",
    "type": "string"
   },
   {
    "internalType": "bytes",
    "name": "params",
    "type": "bytes"
   }
  ],
  "name": "castVoteWithReasonAndParams",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "support",
    "type": "uint8"
   },
   {
    "internalType": "address",
    "name": "voter",
    "type": "address"
   },
   {
    "internalType": "string",
    "name": "reason",
    "type": "string"
   },
   {
    "internalType": "bytes",
    "name": "params",
    "type": "bytes"
   },
   {
    "internalType": "bytes",
    "name": "signature",
    "type": "bytes"
   }
  ],
  "name": "castVoteWithReasonAndParamsBySig",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "clock",
  "outputs": [
   {
    "internalType": "uint48",
    "name": "",
    "type": "uint48"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "descriptionHash",
    "type": "bytes32"
   }
  ],
  "name": "execute",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "payable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "descriptionHash",
    "type": "bytes32"
   }
  ],
  "name": "getProposalId",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "getVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "params",
    "type": "bytes"
   }
  ],
  "name": "getVotesWithParams",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "hasVoted",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "descriptionHash",
    "type": "bytes32"
   }
  ],
  "name": "hashProposal",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "name",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "nonces",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256[]",
    "name": "",
    "type": "uint256[]"
   },
   {
    "internalType": "uint256[]",
    "name": "",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC1155BatchReceived",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC1155Received",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC721Received",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalDeadline",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalEta",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalNeedsQueuing",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalProposer",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalSnapshot",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "proposalThreshold",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "proposalVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "againstVotes",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "forVotes",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "abstainVotes",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "string",
    "name": "description",
    "type": "string"
   }
  ],
  "name": "propose",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "calldatas",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "descriptionHash",
    "type": "bytes32"
   }
  ],
  "name": "queue",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "quorum",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "quorumDenominator",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "quorumNumerator",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "quorumNumerator",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "data",
    "type": "bytes"
   }
  ],
  "name": "relay",
  "outputs": [],
  "stateMutability": "payable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "newProposalThreshold",
    "type": "uint256"
   }
  ],
  "name": "setProposalThreshold",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint48",
    "name": "newVotingDelay",
    "type": "uint48"
   }
  ],
  "name": "setVotingDelay",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "newVotingPeriod",
    "type": "uint32"
   }
  ],
  "name": "setVotingPeriod",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "proposalId",
    "type": "uint256"
   }
  ],
  "name": "state",
  "outputs": [
   {
    "internalType": "enum IGovernor.ProposalState",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes4",
    "name": "interfaceId",
    "type": "bytes4"
   }
  ],
  "name": "supportsInterface",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "timelock",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "token",
  "outputs": [
   {
    "internalType": "contract IERC5805",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "newQuorumNumerator",
    "type": "uint256"
   }
  ],
  "name": "updateQuorumNumerator",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "contract TimelockController",
    "name": "newTimelock",
    "type": "address"
   }
  ],
  "name": "updateTimelock",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "version",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "votingDelay",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "votingPeriod",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "stateMutability": "payable",
  "type": "receive"
 }
] as const;

export const protocolTimelockAbi = [
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "delay",
    "type": "uint256"
   },
   {
    "internalType": "address[]",
    "name": "proposers",
    "type": "address[]"
   },
   {
    "internalType": "address[]",
    "name": "executors",
    "type": "address[]"
   },
   {
    "internalType": "address",
    "name": "admin",
    "type": "address"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "AccessControlBadConfirmation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "neededRole",
    "type": "bytes32"
   }
  ],
  "name": "AccessControlUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "FailedCall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "delay",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "minDelay",
    "type": "uint256"
   }
  ],
  "name": "TimelockInsufficientDelay",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "targets",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "payloads",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "values",
    "type": "uint256"
   }
  ],
  "name": "TimelockInvalidOperationLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "TimelockUnauthorizedCaller",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "predecessorId",
    "type": "bytes32"
   }
  ],
  "name": "TimelockUnexecutedPredecessor",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "operationId",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "expectedStates",
    "type": "bytes32"
   }
  ],
  "name": "TimelockUnexpectedOperationState",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "bytes",
    "name": "data",
    "type": "bytes"
   }
  ],
  "name": "CallExecuted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "CallSalt",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "bytes",
    "name": "data",
    "type": "bytes"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "delay",
    "type": "uint256"
   }
  ],
  "name": "CallScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "Cancelled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "oldDuration",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newDuration",
    "type": "uint256"
   }
  ],
  "name": "MinDelayChange",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "previousAdminRole",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "newAdminRole",
    "type": "bytes32"
   }
  ],
  "name": "RoleAdminChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "RoleGranted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "RoleRevoked",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "CANCELLER_ROLE",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "DEFAULT_ADMIN_ROLE",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "EXECUTOR_ROLE",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "PROPOSER_ROLE",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "cancel",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "payload",
    "type": "bytes"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "execute",
  "outputs": [],
  "stateMutability": "payable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "payloads",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "executeBatch",
  "outputs": [],
  "stateMutability": "payable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "getMinDelay",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "getOperationState",
  "outputs": [
   {
    "internalType": "enum TimelockController.OperationState",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   }
  ],
  "name": "getRoleAdmin",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "getTimestamp",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "grantRole",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "hasRole",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "data",
    "type": "bytes"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "hashOperation",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "payloads",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "hashOperationBatch",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "isOperation",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "isOperationDone",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "isOperationPending",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "id",
    "type": "bytes32"
   }
  ],
  "name": "isOperationReady",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256[]",
    "name": "",
    "type": "uint256[]"
   },
   {
    "internalType": "uint256[]",
    "name": "",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC1155BatchReceived",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC1155Received",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "",
    "type": "bytes"
   }
  ],
  "name": "onERC721Received",
  "outputs": [
   {
    "internalType": "bytes4",
    "name": "",
    "type": "bytes4"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "internalType": "address",
    "name": "callerConfirmation",
    "type": "address"
   }
  ],
  "name": "renounceRole",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "role",
    "type": "bytes32"
   },
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "revokeRole",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "target",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "bytes",
    "name": "data",
    "type": "bytes"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256",
    "name": "delay",
    "type": "uint256"
   }
  ],
  "name": "schedule",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address[]",
    "name": "targets",
    "type": "address[]"
   },
   {
    "internalType": "uint256[]",
    "name": "values",
    "type": "uint256[]"
   },
   {
    "internalType": "bytes[]",
    "name": "payloads",
    "type": "bytes[]"
   },
   {
    "internalType": "bytes32",
    "name": "predecessor",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256",
    "name": "delay",
    "type": "uint256"
   }
  ],
  "name": "scheduleBatch",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes4",
    "name": "interfaceId",
    "type": "bytes4"
   }
  ],
  "name": "supportsInterface",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "newDelay",
    "type": "uint256"
   }
  ],
  "name": "updateDelay",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "stateMutability": "payable",
  "type": "receive"
 }
] as const;

export const serviceTokenAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "holder",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "supply",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "CheckpointUnorderedInsertion",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "increasedSupply",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "ERC20ExceededSafeSupply",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "allowance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientAllowance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "balance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientBalance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "approver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidApprover",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSpender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ERC2612ExpiredSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "ERC2612InvalidSigner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   },
   {
    "internalType": "uint48",
    "name": "clock",
    "type": "uint48"
   }
  ],
  "name": "ERC5805FutureLookup",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "currentNonce",
    "type": "uint256"
   }
  ],
  "name": "InvalidAccountNonce",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "expiry",
    "type": "uint256"
   }
  ],
  "name": "VotesExpiredSignature",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Approval",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "delegator",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "fromDelegate",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "toDelegate",
    "type": "address"
   }
  ],
  "name": "DelegateChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "delegate",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "previousVotes",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newVotes",
    "type": "uint256"
   }
  ],
  "name": "DelegateVotesChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Transfer",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "CLOCK_MODE",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "DOMAIN_SEPARATOR",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "allowance",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "approve",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "balanceOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint32",
    "name": "pos",
    "type": "uint32"
   }
  ],
  "name": "checkpoints",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint48",
      "name": "_key",
      "type": "uint48"
     },
     {
      "internalType": "uint208",
      "name": "_value",
      "type": "uint208"
     }
    ],
    "internalType": "struct Checkpoints.Checkpoint208",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "clock",
  "outputs": [
   {
    "internalType": "uint48",
    "name": "",
    "type": "uint48"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "decimals",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "delegatee",
    "type": "address"
   }
  ],
  "name": "delegate",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "delegatee",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "nonce",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "expiry",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "delegateBySig",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "delegates",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "getPastTotalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "getPastVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "getVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "name",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "nonces",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "numCheckpoints",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "permit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "symbol",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "totalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transfer",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transferFrom",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const testStablecoinAbi = [
 {
  "inputs": [],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "allowance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientAllowance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "balance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientBalance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "approver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidApprover",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSpender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ERC2612ExpiredSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "ERC2612InvalidSigner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "currentNonce",
    "type": "uint256"
   }
  ],
  "name": "InvalidAccountNonce",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Approval",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Transfer",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "DOMAIN_SEPARATOR",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "allowance",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "approve",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "balanceOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "decimals",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "mint",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "name",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "nonces",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "permit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "symbol",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "totalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transfer",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transferFrom",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;
