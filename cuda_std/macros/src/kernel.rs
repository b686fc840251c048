//! Expansion of `#[kernel]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, FnArg, Ident, ItemFn, MetaNameValue, Pat, ReturnType, Token, Type};

/// The launch bounds that an attribute may carry: attribute key, and the word that `cuda_builder` reads in
/// the PTX.
const BOUNDS: [(&str, &str); 3] = [
    ("max_threads", "maxntid"),
    ("min_blocks", "minnctapersm"),
    ("max_registers", "maxnreg"),
];

pub fn expand(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let bounds = parse_bounds(attr)?;
    let function: ItemFn = syn::parse2(item)?;
    check_signature(&function)?;

    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = &function;
    let name = &sig.ident;
    let mut abi_params = Vec::new();
    let mut rebuild = Vec::new();
    for input in &sig.inputs {
        let (pat, ty) = parameter(input)?;
        let (params, statement) = lower_parameter(pat, ty);
        abi_params.extend(params);
        rebuild.extend(statement);
    }
    let statements = &block.stmts;
    let markers = bounds.iter().map(|(word, value)| {
        let marker = format_ident!("{word}");
        quote!(::cuda_std::launch_bounds::#marker::<{ #value }>();)
    });

    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        #vis unsafe extern "ptx-kernel" fn #name(#(#abi_params),*) {
            #(#markers)*
            #(#rebuild)*
            #(#statements)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(clippy::too_many_arguments)]
        #vis #sig #block
    })
}

fn parse_bounds(attr: TokenStream) -> syn::Result<Vec<(&'static str, Expr)>> {
    let pairs = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(attr)?;
    pairs
        .into_iter()
        .map(|pair| {
            BOUNDS
                .iter()
                .find(|(key, _)| pair.path.is_ident(key))
                .map(|(_, word)| (*word, pair.value.clone()))
                .ok_or_else(|| {
                    let keys = BOUNDS.map(|(key, _)| key).join(", ");
                    syn::Error::new_spanned(
                        &pair.path,
                        format!("unknown launch bound; #[kernel] takes {keys}"),
                    )
                })
        })
        .collect()
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let sig = &function.sig;
    let refuse = |tokens: &dyn quote::ToTokens, why: &str| {
        Err(syn::Error::new_spanned(tokens.to_token_stream(), why))
    };
    if sig.unsafety.is_none() {
        return refuse(
            &sig.fn_token,
            "a kernel must be an `unsafe fn`: its threads share their arguments without checks",
        );
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        return refuse(
            ty,
            "a kernel returns nothing: write results through a pointer",
        );
    }
    if let Some(token) = &sig.asyncness {
        return refuse(token, "a kernel cannot be async");
    }
    if let Some(token) = &sig.constness {
        return refuse(token, "a kernel cannot be const");
    }
    if let Some(abi) = &sig.abi {
        return refuse(abi, "#[kernel] sets the ABI: write a plain `unsafe fn`");
    }
    if sig.generics.type_params().next().is_some() || sig.generics.const_params().next().is_some() {
        return refuse(
            &sig.generics,
            "a kernel cannot be generic: its name is its PTX entry. Make the body a generic \
             #[inline(always)] function and call it from one kernel per instance",
        );
    }
    Ok(())
}

fn parameter(input: &FnArg) -> syn::Result<(&Ident, &Type)> {
    match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
                Ok((&pat.ident, &typed.ty))
            }
            pat => Err(syn::Error::new_spanned(
                pat,
                "a kernel parameter must be a plain name",
            )),
        },
        FnArg::Receiver(receiver) => Err(syn::Error::new_spanned(
            receiver,
            "a kernel cannot be a method",
        )),
    }
}

/// The parameters of the PTX entry for one written parameter, and the statement that rebuilds it.
fn lower_parameter(name: &Ident, ty: &Type) -> (Vec<TokenStream>, Option<TokenStream>) {
    if let Type::Reference(reference) = ty
        && let Type::Slice(slice) = &*reference.elem
    {
        let element = &slice.elem;
        let ptr = format_ident!("{name}_ptr");
        let len = format_ident!("{name}_len");
        let (ptr_type, slice_type, from_raw) = if reference.mutability.is_some() {
            (
                // Not `&mut`: every thread of the grid holds this pointer, so it must not be `noalias`.
                quote!(*mut #element),
                quote!(&mut [#element]),
                quote!(::core::slice::from_raw_parts_mut(#ptr, #len)),
            )
        } else {
            (
                // A reference, so that LLVM sees `noalias readonly` and may use `ld.global.nc`.
                quote!(&#element),
                quote!(&[#element]),
                quote!(::core::slice::from_raw_parts(::core::ptr::from_ref(#ptr), #len)),
            )
        };
        return (
            vec![quote!(#ptr: #ptr_type), quote!(#len: usize)],
            Some(quote! {
                // SAFETY: the launch passes the pointer and the length of one device allocation.
                let #name: #slice_type = unsafe { #from_raw };
            }),
        );
    }
    (vec![quote!(#name: #ty)], None)
}
